// The machine goes while a commit is being written, and leaves a part of its last frame; then
// another process takes the session up.
//
// What SQLite promises of a torn commit is that it never was. What Perdure promises rests on the order
// of its writes: a call is on the disk as dispatched before its tool runs, and nobody is told of a
// result before that is on the disk. So if the commit of a result is torn, then nobody knew of it, the
// store is as it was before, and the call is in doubt: it is verified, and not made again. If a commit
// is torn that somebody was told of, a disk has lost what it said it had; that is named, and the
// session waits for somebody to say that it goes on.

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <ios>
#include <iterator>
#include <ostream>
#include <string>
#include <vector>

#include "agent/pairing.hpp"
#include "agent/trial.hpp"
#include "contract/backends.hpp"
#include "crash/child_process.hpp"
#include "doubles/must.hpp"
#include "doubles/wal_frames.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "perdure/store/upkeep.hpp"
#include "runtime/api/state_details.hpp"
#include "runtime/writer/session_writer.hpp"

namespace perdure::agents {
namespace {

namespace fs = std::filesystem;

/// What is left of the last frame of a commit, and whether the log ends there: it has room ahead, and
/// what was never written to it is zeros.
struct Tear {
  std::string name;
  std::size_t kept;
  bool ends_there;
};

void PrintTo(const Tear& tear, std::ostream* out) { *out << tear.name; }

std::vector<Tear> tears() {
  std::vector<Tear> all;
  constexpr std::size_t header = 24;
  for (const bool ends_there : {true, false}) {
    const char* const how = ends_there ? "Cut" : "Zeroed";
    all.push_back({fmt::format("{}BeforeTheFrame", how), 0, ends_there});
    all.push_back({fmt::format("{}InTheHeader", how), header / 2, ends_there});
    all.push_back({fmt::format("{}AfterTheHeader", how), header, ends_there});
    all.push_back({fmt::format("{}InThePage", how), wal_frame_bytes / 2, ends_there});
    all.push_back({fmt::format("{}BeforeTheLastSector", how), wal_frame_bytes - 512, ends_there});
  }
  // Only cut: the last bytes of a page are zeros in a log.
  all.push_back({"CutBeforeTheLastByte", wal_frame_bytes - 1, true});
  return all;
}

/// What a store says of the payment.
struct Seen {
  std::vector<Entry> log{};
  CallState pay = CallState::intended;
};

class TornWal : public testing::TestWithParam<Tear> {
 protected:
  /// An agent dies when so many commits since its tool returned are written, the last of them
  /// unsynced, and nobody was told of that one.
  void die_after(const std::string& tool, int commits) {
    const auto agent =
        trial.start({"unsynced=" + tool, fmt::format("syncs={}", commits), "wait=1000"});
    EXPECT_THAT(agent->read_to_end(), testing::IsEmpty());
    ASSERT_TRUE(agent->wait().was_killed());
    ASSERT_EQ(trial.world().count("pay-1").effects.size(), 1U);
  }

  /// Tears the last of the log's commits, or one before it with all that follows.
  void tear(std::size_t commits = 1) {
    const std::string path = trial.store_file() + "-wal";
    std::ifstream file(path, std::ios::binary);
    std::string log(std::istreambuf_iterator<char>(file), {});
    const auto ends = commit_ends(log);
    ASSERT_GT(ends.size(), commits);
    const std::size_t from = ends[ends.size() - commits] - wal_frame_bytes + GetParam().kept;
    const std::size_t whole = log.size();
    log.resize(from);
    if (!GetParam().ends_there) log.resize(whole, '\0');
    std::ofstream(path, std::ios::binary | std::ios::trunc) << log;
  }

  /// Looked at in a copy: to open a store is to change it.
  [[nodiscard]] Seen look() {
    const std::string copy = trial.file(fmt::format("copy {}.db", ++copies_));
    for (const char* end : {"", "-wal", "-lock"})
      fs::copy_file(trial.store_file() + end, copy + end);
    const auto store = must(open_store(copy, {.create = false}));
    Seen seen{.log = must(store->log().read(id, {}))};
    for (const Call& call : must(store->ledger().list({.session = id}))) {
      if (call.tool == "pay") seen.pay = call.state;
    }
    return seen;
  }

  void expect_a_usable_conversation() {
    const auto store = must(open_store(trial.location()));
    const auto state = must(read_state(*store, id, Point::head()));
    EXPECT_TRUE(is_paired(provider_messages(state)));
    EXPECT_TRUE(state.details->open_calls.empty());
  }
  void expect_one_payment() {
    EXPECT_EQ(trial.world().count("pay-1").effects.size(), 1U);
    EXPECT_EQ(trial.world().count("pay-1").requests.size(), 1U) << "verified, not made again";
    EXPECT_FALSE(trial.asked().contains("pay-1"));
  }

  Trial trial{file_backends().front()};
  const SessionId id = SessionId::parse("the-session").value();

 private:
  int copies_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Every, TornWal, testing::ValuesIn(tears()),
                         [](const auto& named) { return named.param.name; });

TEST_P(TornWal, UnderAResultLeavesACallThatIsVerified) {
  ASSERT_NO_FATAL_FAILURE(die_after("pay", 1));
  const Seen whole = look();
  ASSERT_EQ(whole.pay, CallState::succeeded) << "the commit that is torn is that of the result";

  ASSERT_NO_FATAL_FAILURE(tear());

  const Seen torn = look();
  EXPECT_EQ(torn.pay, CallState::dispatched);
  ASSERT_LT(torn.log.size(), whole.log.size());
  EXPECT_TRUE(std::equal(torn.log.begin(), torn.log.end(), whole.log.begin()))
      << "nothing else is lost";
  trial.finish();
  trial.judge();
  EXPECT_THAT(trial.complaints(), testing::IsEmpty()) << "nor is a loss told of that was none";
  expect_one_payment();
  expect_a_usable_conversation();
}

TEST_P(TornWal, ThatWasAcknowledgedIsNamedAndTheCallIsStillVerified) {
  ASSERT_NO_FATAL_FAILURE(die_after("pay", 2));
  ASSERT_EQ(look().pay, CallState::succeeded);

  ASSERT_NO_FATAL_FAILURE(tear(2));

  {
    const auto store = must(open_store(trial.location()));
    EXPECT_FALSE(must(store->upkeep().check()).is_sound());
    const auto session = must(store->sessions().read(id));
    EXPECT_EQ(session.status, Status::paused);
    EXPECT_TRUE(session.needs_attention());
  }
  trial.finish();
  expect_one_payment();
  expect_a_usable_conversation();
}

}  // namespace
}  // namespace perdure::agents
