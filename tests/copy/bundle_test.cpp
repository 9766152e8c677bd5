// bundle.hpp made executable: out of every backend, into every backend.

#include "perdure/store/bundle.hpp"

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <sys/resource.h>
#include <utility>
#include <vector>

#include "contract/backends.hpp"
#include "copy/household.hpp"
#include "doubles/counting_ids.hpp"
#include "doubles/difference.hpp"
#include "doubles/fake_clock.hpp"
#include "doubles/must.hpp"
#include "doubles/part_files.hpp"
#include "doubles/temp_folder.hpp"
#include "perdure/store/copy.hpp"
#include "perdure/store/limits.hpp"
#include "perdure/store/open.hpp"

namespace perdure {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

struct Way {
  Backend from;
  Backend to;
};

void PrintTo(const Way& way, std::ostream* out) { *out << way.from.name << "_to_" << way.to.name; }

std::vector<Way> every_way() {
  std::vector<Way> ways;
  for (const Backend& from : every_backend()) {
    for (const Backend& to : every_backend()) ways.push_back({from, to});
  }
  return ways;
}

SessionId named(const std::string& name) { return must(SessionId::parse(name)); }

/// Without the lines that say what state sessions are in: those are changed on purpose.
std::string but_for_rows(const std::string& portrait) {
  std::string kept;
  std::istringstream lines(portrait);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("session ") && !line.starts_with("restored ")) kept += line + "\n";
  }
  return kept;
}

/// As it must come out of a bundle.
SessionSummary imported(SessionSummary row, const SessionSummary& is) {
  if (row.status == Status::active || row.status == Status::waiting) {
    row.status = Status::paused;
    row.wake_at.reset();
    row.wait_reason = is.wait_reason;
    EXPECT_THAT(row.wait_reason, HasSubstr("imported from a bundle"));
  }
  if (row.metadata != "{}") row.metadata = R"({"imported":)" + row.metadata + "}";
  row.restored = row.status == Status::paused;
  row.holder = is.holder;
  return row;
}

class BundleTest : public testing::TestWithParam<Way> {
 protected:
  std::unique_ptr<Store> open(const StorePlace& place) {
    return must(open_store(place.location(), {.clock = &clock, .ids = &ids}));
  }

  Lease own(Store& store, const SessionId& session) {
    if (!store.ownership().renew(worker)) {
      must(store.ownership().enroll({.id = worker, .host = "host", .pid = 1}));
    }
    return must(store.ownership().acquire(session, worker));
  }

  Receipt say(Store& store, const SessionId& session) {
    const Lease lease = own(store, session);
    Batch batch;
    batch.id = mint<BatchTag>(fresh);
    batch.expected_head = must(store.sessions().read(session)).head;
    batch.entries.push_back(
        {.channel = "transcript", .kind = "message", .body = Body::from_text("{}")});
    const Receipt receipt = must(store.commit(lease, batch));
    must(store.ownership().release(lease));
    return receipt;
  }

  std::vector<SessionSummary> rows(Store& store) {
    SessionQuery all{.sort = SessionSort::created, .descending = false, .limit = 1000};
    return must(store.sessions().list(all)).sessions;
  }

  static void expect_sound(Store& store) {
    const auto report = must(store.upkeep().check());
    EXPECT_TRUE(report.is_sound()) << (report.damage.empty() ? "" : report.damage[0].what);
  }

  void expect_untouched() {
    EXPECT_THAT(rows(*to), IsEmpty());
    EXPECT_EQ(must(to->transfer().find_arrival("bundle")).ticket, 0U);
    const auto report = must(to->upkeep().check());
    EXPECT_TRUE(report.is_sound());
    EXPECT_EQ(report.entries, 0U);
  }

  static Progress stop_at(int step) {
    return [left = step](const Step&) mutable { return --left > 0; };
  }

  TempFolder folder;
  const std::string path = folder.file("sessions.bundle");
  StorePlace from_place{GetParam().from};
  StorePlace to_place{GetParam().to};
  FakeClock clock;
  CountingIds ids;
  CountingIds fresh{1};
  const WorkerId worker = must(WorkerId::parse("worker"));
  const std::unique_ptr<Store> from = open(from_place);
  const std::unique_ptr<Store> to = open(to_place);
};

INSTANTIATE_TEST_SUITE_P(EveryWay, BundleTest, testing::ValuesIn(every_way()),
                         [](const testing::TestParamInfo<Way>& tested) {
                           return testing::PrintToString(tested.param);
                         });

TEST_P(BundleTest, EverythingIsThereAsItWas) {
  furnish(*from, clock, Size::large);
  const std::string before = portrait(*from);
  const auto source = rows(*from);

  const BundleReport written = must(export_sessions(*from, path));
  const BundleReport read = must(import_bundle(*to, path));

  EXPECT_EQ(written, read);
  EXPECT_EQ(written, must(check_bundle(path)));
  EXPECT_THAT(written.sessions, SizeIs(10));
  EXPECT_EQ(written.claims, 2U);
  EXPECT_EQ(written.blobs, 2U);
  EXPECT_EQ(written.bytes, std::filesystem::file_size(path));
  EXPECT_EQ(difference(but_for_rows(before), but_for_rows(portrait(*to))), "");
  const auto target = rows(*to);
  ASSERT_EQ(target.size(), source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    EXPECT_EQ(target[i], imported(source[i], target[i])) << source[i].id.text();
  }
  expect_sound(*to);
}

TEST_P(BundleTest, TheSourceIsNotChangedAndGoesOn) {
  furnish(*from, clock, Size::small);
  const auto before = rows(*from);
  const std::string portrayed = portrait(*from);

  must(export_sessions(*from, path));

  EXPECT_EQ(rows(*from), before) << "down to the revision";
  EXPECT_EQ(portrait(*from), portrayed);
  EXPECT_THAT(runnable(*from), SizeIs(9));
  say(*from, named("main"));
  expect_sound(*from);
}

// Nothing that comes out of a bundle is due, whatever it waited for.
TEST_P(BundleTest, NothingGoesOnByItself) {
  furnish(*from, clock, Size::small);
  must(export_sessions(*from, path));
  must(import_bundle(*to, path));
  clock.advance(std::chrono::hours(1000));

  EXPECT_THAT(must(to->sessions().due(100)), IsEmpty());
  for (const SessionSummary& row : rows(*to)) {
    EXPECT_NE(row.status, Status::active) << row.id.text();
    EXPECT_EQ(row.needs_attention(), row.status == Status::paused || row.attention > 0);
  }
}

// Programs obey metadata: whose server is asked, what is written where.
TEST_P(BundleTest, MetadataIsSetAsideUnlessTheBundleIsOnesOwn) {
  const std::string nothing = R"({"imported":{}})";
  const std::string large = R"({"agent":")" + std::string(metadata_bytes_max - 12, 'x') + R"("})";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"({"agent": {"file": "x"}})", R"({"imported":{"agent": {"file": "x"}}})"},
      {R"({"imported":{"agent":1}})", R"({"imported":{"agent":1}})"},
      {R"({"imported":{},"agent":1})", R"({"imported":{"imported":{},"agent":1}})"},
      {large, nothing},
      {"{}", "{}"}};
  for (std::size_t i = 0; i < cases.size(); ++i) {
    must(from->sessions().create(
        {.id = named(std::to_string(i)), .annotation = {.metadata = cases[i].first}}));
  }
  must(export_sessions(*from, path));

  must(import_bundle(*to, path));

  for (std::size_t i = 0; i < cases.size(); ++i) {
    EXPECT_EQ(must(to->sessions().read(named(std::to_string(i)))).metadata, cases[i].second);
    must(to->retention().remove(named(std::to_string(i))));
  }
  must(import_bundle(*to, path, {.with_metadata = true}));
  EXPECT_EQ(must(to->sessions().read(named("0"))).metadata, cases[0].first);
  expect_sound(*to);
}

TEST_P(BundleTest, SomebodyMayLetItGoOn) {
  furnish(*from, clock, Size::small);
  must(export_sessions(*from, path));
  must(import_bundle(*to, path));
  const SessionSummary before = must(to->sessions().read(named("main")));

  const Lease lease = own(*to, named("main"));

  EXPECT_GT(lease.fence, Fence{1} << 32U);
  const auto repeated = to->commit(lease, {.id = must(BatchId::parse("b1")), .expected_head = 999});
  EXPECT_EQ(must(repeated).first, 1U) << "receipts came along";
  EXPECT_EQ(say(*to, named("main")).first, before.next);
  must(to->retention().remove(named("heir")));
  must(to->retention().prune(named("trimmed"), {.last = 1}));
  expect_sound(*to);
}

TEST_P(BundleTest, TheSameSessionsAreTheSameFile) {
  furnish(*from, clock, Size::small);

  const Digest first = must(export_sessions(*from, path)).digest;
  EXPECT_EQ(must(export_sessions(*from, folder.file("again"))).digest, first);
  say(*from, named("main"));
  EXPECT_NE(must(export_sessions(*from, folder.file("later"))).digest, first);
}

TEST_P(BundleTest, OneFamilyAlone) {
  furnish(*from, clock, Size::small);

  const auto split = export_sessions(*from, path, {.sessions = {named("main")}});
  ASSERT_FALSE(split);
  EXPECT_EQ(split.error().code, ErrorCode::conflict);
  EXPECT_EQ(split.error().subject, "child");
  EXPECT_FALSE(std::filesystem::exists(path));

  const auto report =
      must(export_sessions(*from, path, {.sessions = {named("fork")}, .with_relatives = true}));
  EXPECT_THAT(report.sessions, SizeIs(4));
  EXPECT_THAT(must(import_bundle(*to, path)).sessions, SizeIs(4));
  EXPECT_EQ(must(export_sessions(*to, folder.file("back"), {.sessions = report.sessions})).entries,
            report.entries);
  expect_sound(*to);
}

TEST_P(BundleTest, WhatCannotBeExportedLeavesNoFile) {
  furnish(*from, clock, Size::small);
  own(*from, named("heir"));

  EXPECT_EQ(export_sessions(*from, path).error().code, ErrorCode::lease_held);
  EXPECT_EQ(export_sessions(*from, path, {.sessions = {named("nobody")}}).error().code,
            ErrorCode::not_found);
  must(from->ownership().retire(worker));
  EXPECT_FALSE(must(export_sessions(*from, path, {}, stop_at(3))).is_complete);
  EXPECT_EQ(export_sessions(*from, folder.file("no/such/folder")).error().code,
            ErrorCode::unavailable);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  must(copy_store(*from, *to, {.place = "elsewhere"}));
  const auto moved = export_sessions(*from, path, {.sessions = {named("trimmed")}});
  EXPECT_EQ(moved.error().code, ErrorCode::conflict);
  EXPECT_EQ(moved.error().subject, "elsewhere");
  must(export_sessions(*to, path, {.sessions = {named("trimmed")}}));
  EXPECT_EQ(export_sessions(*to, path).error().code, ErrorCode::already_exists);
}

/// While it lives no file of this process grows beyond so many bytes, as on a full disk.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

// What went wrong is said, not that somebody wrote: nobody did.
TEST_P(BundleTest, AFullDiskIsNamedWhereverItIsFull) {
  furnish(*from, clock, Size::small);
  const std::uint64_t whole = must(export_sessions(*from, path)).bytes;
  for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{100}, whole / 2, whole - 1}) {
    const FullDisk full(bytes);
    const auto report = export_sessions(*from, folder.file("second"));
    ASSERT_FALSE(report) << bytes;
    EXPECT_EQ(report.error().code, ErrorCode::unavailable) << bytes << report.error().message;
    EXPECT_THAT(report.error().message, HasSubstr("second.part")) << bytes;
    EXPECT_FALSE(has_parts(folder.file("second")));
  }
}

TEST_P(BundleTest, AFileThatIsCalledLikeAPartOfItStaysWhatItIs) {
  furnish(*from, clock, Size::small);
  std::ofstream(folder.file("letter")) << "dear";
  std::filesystem::create_symlink("letter", path + ".part");

  must(export_sessions(*from, path));

  std::ifstream letter(path + ".part");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(letter), {}), "dear");
  EXPECT_EQ(must(check_bundle(path)).sessions.size(), rows(*from).size());
}

// Whoever writes in the middle makes it begin again, so that all is of one moment.
TEST_P(BundleTest, WhatChangesMeanwhileIsReadAnew) {
  furnish(*from, clock, Size::small);
  int steps = 0;
  const auto report = must(export_sessions(*from, path, {}, [&](const Step&) {
    if (++steps == 6) say(*from, named("trimmed"));
    return true;
  }));

  must(import_bundle(*to, path));
  EXPECT_EQ(difference(but_for_rows(portrait(*from)), but_for_rows(portrait(*to))), "");
  expect_sound(*to);
  const auto restless = export_sessions(*from, folder.file("restless"), {}, [&](const Step&) {
    say(*from, named("trimmed"));
    return true;
  });
  ASSERT_FALSE(restless);
  EXPECT_EQ(restless.error().code, ErrorCode::conflict);
  EXPECT_FALSE(std::filesystem::exists(folder.file("restless")));
}

TEST_P(BundleTest, WhatIsPrunedMeanwhileIsReadAnew) {
  furnish(*from, clock, Size::small);
  for (int i = 0; i < 3; ++i) say(*from, named("trimmed"));
  const Lease lease = own(*from, named("trimmed"));
  must(from->commit(lease, {.id = mint<BatchTag>(fresh),
                            .expected_head = must(from->sessions().read(lease.session)).head,
                            .checkpoint = NewCheckpoint{.reason = "turn"}}));
  must(from->ownership().retire(worker));
  int steps = 0;
  must(export_sessions(*from, path, {}, [&](const Step&) {
    if (++steps == 4) must(from->retention().prune(named("trimmed"), {.last = 1}));
    return true;
  }));

  must(import_bundle(*to, path));
  EXPECT_EQ(difference(but_for_rows(portrait(*from)), but_for_rows(portrait(*to))), "");
  expect_sound(*to);
}

TEST_P(BundleTest, AnIdThatIsInUseLeavesNothing) {
  furnish(*from, clock, Size::small);
  must(export_sessions(*from, path));
  must(to->sessions().create({.id = named("trimmed")}));

  const auto refused = import_bundle(*to, path);

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::already_exists);
  EXPECT_EQ(refused.error().subject, "trimmed");
  EXPECT_THAT(rows(*to), SizeIs(1));
  must(to->retention().remove(named("trimmed")));
  expect_untouched();
  must(import_bundle(*to, path));
  EXPECT_EQ(import_bundle(*to, path).error().code, ErrorCode::already_exists);
  expect_sound(*to);
}

TEST_P(BundleTest, AKeyThatIsHeldLeavesNothing) {
  furnish(*from, clock, Size::small);
  must(export_sessions(*from, path));
  const Call held = must(from->ledger().list({.states = {CallState::succeeded}})).at(0);
  must(to->sessions().create({.id = named("rival")}));
  const Lease lease = own(*to, named("rival"));
  must(to->commit(lease, {.id = mint<BatchTag>(fresh),
                          .entries = {{.channel = "c", .kind = "k"}},
                          .calls = {Intend{.call = 1, .args = 1, .tool = "pay", .key = held.key},
                                    Dispatch{.call = 1}}}));

  const auto refused = import_bundle(*to, path);

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::conflict);
  EXPECT_EQ(refused.error().subject, "rival:1");
  EXPECT_EQ(must(to->transfer().find_arrival("bundle")).ticket, 0U) << "nor is it under way";
  EXPECT_TRUE(to->sessions().create({.id = named("main")})) << "nor is an id taken";
  must(to->retention().remove(named("main")));
  EXPECT_THAT(rows(*to), SizeIs(1));
  expect_sound(*to);
}

TEST_P(BundleTest, StoppedItLeavesNothing) {
  furnish(*from, clock, Size::small);
  must(export_sessions(*from, path));
  std::vector<Step> steps;
  int stops = 0;
  for (int step = 1; step < 200; step = step * 2 + 1) {
    if (must(import_bundle(*to, path, {}, stop_at(step))).is_complete) break;
    ++stops;
    expect_untouched();
  }

  EXPECT_GE(stops, 4);
  if (rows(*to).empty()) must(import_bundle(*to, path));
  EXPECT_THAT(rows(*to), SizeIs(9));
}

TEST_P(BundleTest, ItTellsHowFarItHasCome) {
  furnish(*from, clock, Size::small);
  must(export_sessions(*from, path));
  std::vector<Step> steps;
  must(import_bundle(*to, path, {}, [&](const Step& step) {
    steps.push_back(step);
    return true;
  }));

  EXPECT_GT(steps.size(), 10U);
  EXPECT_TRUE(std::ranges::is_sorted(steps, {}, &Step::done));
  EXPECT_TRUE(std::ranges::all_of(steps, [](const Step& s) { return s.done <= s.total; }));
}

// The later one takes its place.
TEST_P(BundleTest, OfTwoImportsTheFirstIsOutdated) {
  furnish(*from, clock, Size::small);
  must(export_sessions(*from, path));
  const std::string other = folder.file("other");
  must(export_sessions(*from, other, {.sessions = {named("trimmed")}}));
  bool is_first = true;

  const auto outdated = import_bundle(*to, path, {}, [&](const Step& step) {
    if (is_first && step.done > step.total / 2) {
      is_first = false;
      must(import_bundle(*to, other));
    }
    return true;
  });

  ASSERT_FALSE(outdated);
  EXPECT_EQ(outdated.error().code, ErrorCode::lease_lost);
  ASSERT_THAT(rows(*to), SizeIs(1));
  EXPECT_EQ(rows(*to)[0].id, named("trimmed"));
  expect_sound(*to);
}

}  // namespace
}  // namespace perdure
