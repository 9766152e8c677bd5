// Files of every format: each opens with the code of today and with that of the next build, which
// knows a format more; it tells what it told when it was made, and can be written to; a crash while it
// is migrated leaves a file that still opens.
//
// The files and their golden texts come from maker.cpp. Until a format is released, whoever changes it
// makes them again; afterwards they stay as they are.

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>

#include "crash/child_process.hpp"
#include "crash/stored_file.hpp"
#include "doubles/counting_ids.hpp"
#include "doubles/counting_vfs.hpp"
#include "doubles/difference.hpp"
#include "doubles/fake_clock.hpp"
#include "doubles/next_format.hpp"
#include "doubles/places.hpp"
#include "doubles/temp_folder.hpp"
#include "perdure/store/upkeep.hpp"
#include "store/rules/format.hpp"
#include "store/sqlite/engine/connection.hpp"
#include "store/sqlite/engine/schema.hpp"
#include "store/sqlite/sqlite_store.hpp"
#include "upgrade/tale.hpp"

namespace perdure {
namespace {

// Every number here has its two files in this folder.
constexpr std::array<std::int64_t, 1> kept_formats = {4};

enum class Build : std::uint8_t { todays, next };

constexpr Build builds[] = {Build::todays, Build::next};

using Past = std::tuple<std::int64_t, Build>;

std::string read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

class PastStore : public testing::TestWithParam<Past> {
 protected:
  PastStore() { bring_back(); }

  static std::string kept(std::string_view ending) {
    return fmt::format("{}/tests/upgrade/format-{}.{}", repository_root(), format(), ending);
  }

  static std::int64_t format() { return std::get<std::int64_t>(GetParam()); }

  static sqlite::FormatSteps steps() {
    return std::get<Build>(GetParam()) == Build::next ? sqlite::FormatSteps(next_sqlite_steps)
                                                      : sqlite::own_steps;
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
    auto store = open(path);
    if (!store) throw std::runtime_error("it does not open: " + store.error().message);
    return *std::move(store);
  }

  Result<std::unique_ptr<Store>> open(const std::string& file) {
    return sqlite::open_sqlite({.path = file, .open = options(), .steps = steps()});
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

  void expect_refused(std::int64_t other) {
    bring_back();
    pragma(fmt::format("user_version = {}", other));
    const std::string before = read_bytes(path);

    const auto store = open(path);

    ASSERT_FALSE(store);
    refusal = store.error().message;
    EXPECT_EQ(store.error().code, ErrorCode::unsupported);
    EXPECT_NE(refusal.find(fmt::format("has format {},", other)), std::string::npos) << refusal;
    EXPECT_TRUE(read_bytes(path) == before);
    EXPECT_FALSE(std::filesystem::exists(path + "-wal"));
  }

  std::string refusal;
  TempFolder folder;
  FakeClock clock{Timestamp(std::chrono::sys_days{std::chrono::year{2026} / 6 / 1})};
  CountingIds ids{7};
  const std::string path = folder.file("store.db");
  const std::string golden = read_bytes(kept("golden.txt"));
};

TEST(PastStores, AreKeptOfEveryFormat) {
  for (std::int64_t format = rules::first_format; format <= sqlite::format_number; ++format) {
    EXPECT_NE(std::ranges::find(kept_formats, format), kept_formats.end()) << format;
  }
}

std::map<std::string, std::string> tables_of(const std::string& path) {
  std::atomic<std::uint64_t> rows_read = 0;
  sqlite::Connection connection(path, "", SQLITE_OPEN_READWRITE, &rows_read);
  auto rows = connection.query("SELECT name, coalesce(sql, '') FROM sqlite_schema");
  std::map<std::string, std::string> found;
  while (rows.next()) found[rows.string(0)] = rows.string(1);
  return found;
}

// A release makes these files final. Before it, whoever changes the format makes them again.
TEST(PastStores, AreWhatTodaysBuildMakes) {
  const TempFolder folder;
  ASSERT_TRUE(ChildProcess("upgrade_maker", {folder.path().string()}).wait().is_clean());
  for (const std::string& name : {fmt::format("format-{}.golden.txt", sqlite::format_number),
                                  fmt::format("format-{}.store", sqlite::format_number)}) {
    const std::string past = fmt::format("{}/tests/upgrade/{}", repository_root(), name);
    const std::string made = folder.file(name);
    const bool is_same = name.ends_with("txt") ? read_bytes(past) == read_bytes(made)
                                               : tables_of(past) == tables_of(made);
    EXPECT_TRUE(is_same) << name << " is of an earlier form of this format. If that was not "
                         << "released, run: build/<preset>/tests/upgrade_maker tests/upgrade";
  }
}

TEST_P(PastStore, IsOfItsFormat) { EXPECT_EQ(pragma("user_version"), format()); }

TEST_P(PastStore, TellsWhatItToldThen) {
  EXPECT_EQ(difference(golden, tell(*open())), "");
  EXPECT_EQ(difference(golden, tell(*open())), "") << "when opened again";
  EXPECT_EQ(find_damage(path), "");
}

TEST_P(PastStore, HasTheBuildsFormatWhenItWasOpened) {
  EXPECT_EQ(open()->info().format, sqlite::last_format(steps()));
  EXPECT_EQ(pragma("user_version"), sqlite::last_format(steps()));
}

// Room for sums cannot be made in a file that has pages.
TEST_P(PastStore, KeepsItsPagesAndIsSound) {
  const std::string copy = folder.file("copy.db");
  const std::string saved = folder.file("saved.db");
  ASSERT_TRUE(salvage_store(path, saved));
  ASSERT_TRUE(open()->upkeep().backup(copy));

  constexpr std::size_t reserved_at = 20;
  for (const std::string& made : {path, copy, saved}) {
    EXPECT_EQ(read_bytes(made).at(reserved_at), 8);
    const auto report = open(made).value()->upkeep().check().value();
    EXPECT_TRUE(report.is_sound()) << made << ": " << report.damage.at(0).what;
  }
}

// Goes on where the kept store stopped: its lines, calls, keys and messages.
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
       {sqlite::last_format(steps()) + 1, std::int64_t{std::numeric_limits<std::int32_t>::max()}}) {
    expect_refused(newer);
    EXPECT_NE(refusal.find("use a newer Perdure"), std::string::npos) << refusal;
  }
}

TEST_P(PastStore, OfAFormatThatWasNeverReleasedIsRefusedAndLeftAsItIs) {
  for (std::int64_t unreleased = 1; unreleased < rules::first_format; ++unreleased) {
    expect_refused(unreleased);
    EXPECT_NE(refusal.find("perdure export"), std::string::npos) << refusal;
    const auto salvaged = salvage_store(path, folder.file("saved.db"));
    ASSERT_FALSE(salvaged);
    EXPECT_EQ(salvaged.error().code, ErrorCode::unsupported);
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
      ASSERT_EQ(pragma("user_version"), sqlite::last_format(steps()));
      ASSERT_EQ(find_damage(path), "") << to_string(moment) << " write " << write;
      bring_back();
    }
    EXPECT_GT(write, 1U) << "no death before the end";
  }
}

std::string name_of(const testing::TestParamInfo<Past>& info) {
  return fmt::format("format_{}_by_{}_build", std::get<std::int64_t>(info.param),
                     std::get<Build>(info.param) == Build::next ? "the_next" : "todays");
}

const auto every_past =
    testing::Combine(testing::ValuesIn(kept_formats), testing::ValuesIn(builds));
const auto migrated_past =
    testing::Combine(testing::ValuesIn(kept_formats), testing::Values(Build::next));

INSTANTIATE_TEST_SUITE_P(Each, PastStore, every_past, name_of);
INSTANTIATE_TEST_SUITE_P(Each, PastWork, every_past, name_of);
INSTANTIATE_TEST_SUITE_P(Each, UpgradeCrash, migrated_past, name_of);

}  // namespace
}  // namespace perdure
