// Random operation sequences: every backend answers as the memory store does.

#include <gtest/gtest.h>
#include <map>
#include <regex>
#include <string>

#include "contract/backends.hpp"
#include "contract/everything.hpp"
#include "doubles/counting_ids.hpp"
#include "doubles/fake_clock.hpp"
#include "doubles/temp_folder.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"
#include "property/script.hpp"
#include "property/seeds.hpp"

namespace perdure {
namespace {

constexpr std::size_t runs = 400;
constexpr int steps = 150;
/// Reading everything costs as much as many steps.
constexpr int steps_between_dumps = 50;
/// Parts of the runs that may run at the same time.
constexpr std::uint64_t parts = 4;

/// Segments by the order in which they were first told of. Which numbers they have is a store's own
/// business, as long as it stays with them: PostgreSQL leaves gaps.
class SegmentNames {
 public:
  /// The same text with names instead of numbers.
  std::string rename(const std::string& text) {
    static const std::regex number("(segment[= ]|parent=)([0-9]+)(?=[ @])");
    std::string renamed;
    auto rest = text.cbegin();
    for (std::sregex_iterator found(text.cbegin(), text.cend(), number), end; found != end;
         ++found) {
      const auto name = names_.try_emplace((*found)[2], names_.size() + 1).first->second;
      renamed.append(rest, (*found)[1].second).append(std::to_string(name));
      rest = (*found)[2].second;
    }
    return renamed.append(rest, text.cend());
  }

 private:
  std::map<std::string, std::size_t> names_;
};

/// A store beside the oracle, under the same clock and with the same ids.
class Twins {
 public:
  Twins(std::uint64_t seed, const Backend& backend)
      : place_(backend, memory_folder()),
        oracle_(open("memory:", oracle_ids_)),
        subject_(open(place_.location(), subject_ids_)),
        script_(seed, *oracle_, clock_) {}

  /// Stops at the first difference.
  void run() {
    for (int i = 1; i <= steps && !testing::Test::HasFailure(); ++i) {
      const Action step = script_.next();
      history_ += std::to_string(i) + " " + step.name + "\n";
      compare(step.name, step.run);
      if (i % steps_between_dumps == 0) compare_all("everything after step " + std::to_string(i));
    }
    if (!testing::Test::HasFailure()) survive();
  }

 private:
  std::unique_ptr<Store> open(const std::string& location, CountingIds& ids) {
    // Durability costs a sync a write and has tests of its own.
    auto store =
        open_store(location, {.durability = Durability::process, .clock = &clock_, .ids = &ids});
    if (!store) throw std::runtime_error("cannot open " + location + ": " + store.error().message);
    return std::move(*store);
  }

  void compare(const std::string& what, const std::function<std::string(Store&)>& ask) {
    const std::string expected = oracle_segments_.rename(ask(*oracle_));
    const std::string found = subject_segments_.rename(ask(*subject_));
    EXPECT_EQ(expected, found) << what << "\nafter\n" << history_;
  }

  void compare_all(const std::string& what) {
    compare(what, [&](Store& store) { return everything(store) + script_.by_name(store); });
  }

  /// Workers end with their store object, so they leave first: then all else is the same.
  void survive() {
    for (const WorkerId& worker : script_.workers()) {
      compare("retire", [&](Store& store) {
        return std::string(store.ownership().retire(worker) ? "done" : "failed");
      });
    }
    subject_.reset();
    subject_ = open(place_.location(), subject_ids_);
    compare_all("everything after reopening");
    for (Store* store : {oracle_.get(), subject_.get()}) {
      const auto report = store->upkeep().check();
      ASSERT_TRUE(report) << report.error().message;
      EXPECT_EQ(report->found, 0U) << history_ << report->damage.at(0).what;
    }
  }

  StorePlace place_;
  FakeClock clock_;
  CountingIds oracle_ids_;
  CountingIds subject_ids_;
  SegmentNames oracle_segments_;
  SegmentNames subject_segments_;
  std::unique_ptr<Store> oracle_;
  std::unique_ptr<Store> subject_;
  Script script_;
  std::string history_;
};

class EqualStores : public testing::TestWithParam<std::tuple<Backend, std::uint64_t>> {};

TEST_P(EqualStores, AnswerAlikeWhateverIsDone) {
  const auto& [backend, part] = GetParam();
  std::size_t held = 0;
  for (const std::uint64_t seed : seeds(runs_for(backend, runs))) {
    if (seed % parts != part) continue;
    SCOPED_TRACE(reproduce(seed));
    Twins(seed, backend).run();
    if (HasFailure()) return;
    ++held;
  }
  report_held(held);
}

INSTANTIATE_TEST_SUITE_P(EveryBackend, EqualStores,
                         testing::Combine(testing::ValuesIn(surviving(every_form())),
                                          testing::Range(std::uint64_t{0}, parts)),
                         [](const auto& tested) {
                           return std::get<0>(tested.param).name + "_part_" +
                                  std::to_string(std::get<1>(tested.param));
                         });

/// A script whose steps are mostly refused would compare little but refusals.
TEST(Script, MostlyDoesWhatCanBeDone) {
  int tried = 0;
  int done = 0;
  std::size_t calls = 0;
  std::size_t forks = 0;
  std::size_t versions = 0;
  int removed = 0;
  int pruned = 0;
  int collected = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    FakeClock clock;
    CountingIds ids;
    const auto store = open_store("memory:", {.clock = &clock, .ids = &ids});
    Script script(seed, **store, clock);
    for (int i = 0; i < steps; ++i) {
      const Action step = script.next();
      const std::string answer = step.run(**store);
      removed += step.name.starts_with("remove") && answer.starts_with("freed") ? 1 : 0;
      pruned += answer.starts_with("pruned") && !answer.contains("entries=0") ? 1 : 0;
      collected += step.name.starts_with("collect") && !answer.starts_with("freed items=0") ? 1 : 0;
      if (!step.name.starts_with("commit")) continue;
      ++tried;
      if (answer.starts_with("receipt")) ++done;
    }
    calls += (*store)->ledger().list({}).value().size();
    const auto page = (*store)->sessions().list({.limit = limit_max});
    for (const SessionSummary& session : page->sessions) {
      forks += session.parent && session.parent->lineage == Lineage::fork ? 1 : 0;
      versions += session.version;
    }
  }

  EXPECT_GT(done * 2, tried);
  EXPECT_GE(calls, 60U);
  EXPECT_GT(forks, 25U);
  EXPECT_GT(versions, 60U);
  EXPECT_GT(removed, 10);
  EXPECT_GT(pruned, 20);
  EXPECT_GT(collected, 5);
}

}  // namespace
}  // namespace perdure
