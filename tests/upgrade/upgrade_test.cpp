// Files of every released format: each opens with the code of today, tells what it told
// when it was made, and can be written to; a crash while it is brought to today's format
// leaves a file that still opens.
//
// The files and their golden texts come from maker.cpp, run once for each release.

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <limits>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>

#include "crash/child_process.hpp"
#include "crash/stored_file.hpp"
#include "doubles/counting_ids.hpp"
#include "doubles/counting_vfs.hpp"
#include "doubles/difference.hpp"
#include "doubles/fake_clock.hpp"
#include "doubles/temp_folder.hpp"
#include "perdure/store/open.hpp"
#include "perdure/store/salvage.hpp"
#include "store/sqlite/connection.hpp"
#include "store/sqlite/schema.hpp"
#include "upgrade/tale.hpp"

namespace perdure {
namespace {

// Every number here has its two files in this folder.
constexpr std::array<std::int64_t, 2> kept_formats = {1, 2};

std::string read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

class PastStore : public testing::TestWithParam<std::int64_t> {
 protected:
  PastStore() { bring_back(); }

  static std::string kept(std::string_view ending) {
    return fmt::format("{}/format-{}.{}", PERDURE_PAST_STORES, GetParam(), ending);
  }

  /// Begins anew with the file as it is kept.
  void bring_back() {
    for (const auto& file : std::filesystem::directory_iterator(folder.path())) {
      std::filesystem::remove(file.path());
    }
    std::filesystem::copy_file(kept("store"), path);
    std::filesystem::permissions(path, std::filesystem::perms::owner_write,
                                 std::filesystem::perm_options::add);
  }

  std::unique_ptr<Store> open() {
    auto store = open_store(path, options());
    if (!store) throw std::runtime_error("it does not open: " + store.error().message);
    return *std::move(store);
  }

  OpenOptions options() {
    OpenOptions made;
    made.clock = &clock;
    made.ids = &ids;
    return made;
  }

  std::int64_t pragma(const std::string& statement) {
    std::atomic<std::uint64_t> rows = 0;
    sqlite::Connection connection(path, "", SQLITE_OPEN_READWRITE, &rows);
    auto found = connection.query("PRAGMA " + statement);
    return found.next() ? found.integer(0) : 0;
  }

  TempFolder folder;
  FakeClock clock{Timestamp(std::chrono::sys_days{std::chrono::year{2026} / 6 / 1})};
  CountingIds ids{7};
  const std::string path = folder.file("store.db");
  const std::string golden = read_bytes(kept("golden.txt"));
};

TEST(PastStores, AreKeptOfEveryOlderFormat) {
  for (std::int64_t format = 1; format < sqlite::format_number; ++format) {
    EXPECT_NE(std::ranges::find(kept_formats, format), kept_formats.end()) << format;
  }
}

TEST_P(PastStore, IsOfItsFormat) { EXPECT_EQ(pragma("user_version"), GetParam()); }

TEST_P(PastStore, TellsWhatItToldThen) {
  EXPECT_EQ(difference(golden, tell(*open())), "");
  EXPECT_EQ(difference(golden, tell(*open())), "") << "when opened again";
  EXPECT_EQ(find_damage(path), "");
}

TEST_P(PastStore, HasTodaysFormatWhenItWasOpened) {
  EXPECT_EQ(open()->upkeep().info().format, sqlite::format_number);
  EXPECT_EQ(pragma("user_version"), sqlite::format_number);
}

// Format 1 had no sums, and room for them cannot be made in a file that has pages.
TEST_P(PastStore, KeepsItsPagesAndIsSound) {
  const int room = GetParam() == 1 ? 0 : 8;
  const std::string copy = folder.file("copy.db");
  const std::string saved = folder.file("saved.db");
  ASSERT_TRUE(open()->upkeep().backup(copy));
  ASSERT_TRUE(salvage_store(path, saved));

  constexpr std::size_t reserved_at = 20;
  EXPECT_EQ(read_bytes(path).at(reserved_at), room);
  EXPECT_EQ(read_bytes(copy).at(reserved_at), room);
  EXPECT_EQ(read_bytes(saved).at(reserved_at), 8);
  for (const std::string& made : {path, copy, saved}) {
    const auto report = open_store(made, options()).value()->upkeep().check().value();
    EXPECT_TRUE(report.is_sound()) << made << ": " << report.damage.at(0).what;
  }
}

// Goes on where format 1 stopped: its lines, calls, keys and messages.
class PastWork : public PastStore {
 protected:
  void SetUp() override {
    store = open();
    ASSERT_TRUE(store->ownership().enroll({.id = worker, .host = "here", .pid = 1}));
  }

  Result<Receipt> commit(const std::string& session, Batch batch) {
    const auto id = SessionId::parse(session).value();
    auto lease = store->ownership().acquire(id, worker);
    if (!lease) return forward(lease);
    batch.id = mint<BatchTag>(ids);
    batch.expected_head = store->sessions().read(id)->head;
    return store->commit(*lease, batch);
  }

  static NewEntry said(std::string text) {
    return {.channel = "transcript",
            .kind = "message",
            .fold = Fold::append,
            .body = Body::from_text(std::move(text)),
            .tally = {},
            .at = {}};
  }

  Call call_in(CallState state) {
    const auto calls = store->ledger().list({.session = {}, .states = {state}});
    return calls.value().at(0);
  }

  WorkerId worker = mint<WorkerTag>(ids);
  std::unique_ptr<Store> store;
};

TEST_P(PastWork, GoesOnAndSurvives) {
  const auto doubt = call_in(CallState::in_doubt);
  ASSERT_TRUE(commit("main", {.entries = {said("{}")},
                              .checkpoint = NewCheckpoint{.label = "today"},
                              .consumed = {MessageId::parse("m2").value()}}));
  ASSERT_TRUE(commit("main", {.branch_from = Point::version(2), .entries = {said("[]")}}));
  ASSERT_TRUE(commit("fork", {.entries = {said("1")}, .checkpoint = NewCheckpoint{}}));
  ASSERT_TRUE(
      commit("calls", {.calls = {Settle{.call = doubt.position, .state = CallState::succeeded}}}));
  ASSERT_TRUE(store->sessions().create(
      {.id = SessionId::parse("new").value(),
       .origin = NewSession::Origin{SessionId::parse("main").value(), Point::version(1)}}));
  ASSERT_TRUE(store->ownership().retire(worker));
  const std::string told = tell(*store);
  EXPECT_NE(told, golden);
  store.reset();

  EXPECT_EQ(difference(told, tell(*open())), "");
  EXPECT_EQ(find_damage(path), "");
}

TEST_P(PastWork, KnowsWhatWasDoneThen) {
  const auto held = call_in(CallState::dispatched);
  const auto next = store->sessions().read(SessionId::parse("main").value())->next;
  const auto twice =
      commit("main", {.entries = {said("{}")},
                      .calls = {Intend{.call = next, .args = next, .tool = "send", .key = held.key},
                                Dispatch{.call = next}}});
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().subject, call_name(held.session, held.position));

  const auto consumed = commit("main", {.consumed = {MessageId::parse("m1").value()}});
  ASSERT_FALSE(consumed);
  EXPECT_EQ(consumed.error().code, ErrorCode::conflict);

  const auto lease = store->ownership().acquire(SessionId::parse("main").value(), worker).value();
  const auto repeated =
      store->commit(lease, {.id = BatchId::parse("b1").value(), .expected_head = 99});
  ASSERT_TRUE(repeated);
  EXPECT_EQ(repeated->first, 1U);
}

TEST_P(PastStore, OfANewerFormatIsRefusedAndLeftAsItIs) {
  for (const std::int64_t newer :
       {sqlite::format_number + 1, std::int64_t{std::numeric_limits<std::int32_t>::max()}}) {
    bring_back();
    pragma(fmt::format("user_version = {}", newer));
    const std::string before = read_bytes(path);

    const auto store = open_store(path, options());

    ASSERT_FALSE(store);
    EXPECT_EQ(store.error().code, ErrorCode::unsupported);
    EXPECT_NE(store.error().message.find(std::to_string(newer)), std::string::npos);
    EXPECT_TRUE(read_bytes(path) == before);
    EXPECT_FALSE(std::filesystem::exists(path + "-wal"));
  }
}

class UpgradeCrash : public PastStore {
 protected:
  /// True if it was killed.
  bool open_and_die(Moment moment, std::uint64_t write) {
    ChildProcess opener("upgrade_opener",
                        {path, std::string(to_string(moment)), std::to_string(write)});
    const Ending ending = opener.wait();
    EXPECT_TRUE(ending.is_clean() || ending.was_killed()) << ending.text();
    return ending.was_killed();
  }
};

TEST_P(UpgradeCrash, LeavesAFileThatOpensAndTellsTheSame) {
  for (const Moment moment : {Moment::before, Moment::during, Moment::after}) {
    std::uint64_t write = 1;
    for (; open_and_die(moment, write); ++write) {
      ASSERT_EQ(difference(golden, tell(*open())), "") << to_string(moment) << " write " << write;
      ASSERT_EQ(pragma("user_version"), sqlite::format_number);
      ASSERT_EQ(find_damage(path), "") << to_string(moment) << " write " << write;
      bring_back();
    }
    // A file of today's format may have nothing to write; an older one must be migrated.
    if (GetParam() < sqlite::format_number) {
      EXPECT_GT(write, 1U) << "no death before the end";
    }
  }
}

std::string name_of(const testing::TestParamInfo<std::int64_t>& info) {
  return fmt::format("format_{}", info.param);
}

INSTANTIATE_TEST_SUITE_P(Each, PastStore, testing::ValuesIn(kept_formats), name_of);
INSTANTIATE_TEST_SUITE_P(Each, PastWork, testing::ValuesIn(kept_formats), name_of);
INSTANTIATE_TEST_SUITE_P(Each, UpgradeCrash, testing::ValuesIn(kept_formats), name_of);

}  // namespace
}  // namespace perdure
