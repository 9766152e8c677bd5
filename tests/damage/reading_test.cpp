// A damaged page hides nothing but what was on it.

#include <algorithm>
#include <atomic>
#include <gtest/gtest.h>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "damage/sample.hpp"
#include "damage/verdict.hpp"
#include "doubles/temp_folder.hpp"
#include "perdure/store/store.hpp"
#include "perdure/store/upkeep.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/salvage/row_finder.hpp"
#include "store/api/seam.hpp"

namespace perdure {
namespace {

constexpr std::size_t page_bytes = 8192;

class DamagedPage : public testing::Test {
 protected:
  DamagedPage() {
    sample = make_sample(path, false);
    files = read_files(path);
  }

  // The page that holds this text, which is in the file once.
  [[nodiscard]] std::size_t page_with(const std::string& text) const {
    return files.file.find(text) / page_bytes;
  }

  [[nodiscard]] std::size_t root_of(const std::string& name) const {
    std::atomic<std::uint64_t> rows_read = 0;
    sqlite::Connection db(path, "", SQLITE_OPEN_READONLY, &rows_read);
    sqlite::Rows rows = db.query("SELECT rootpage FROM sqlite_schema WHERE name = ?", name);
    EXPECT_TRUE(rows.next());
    return rows.number(0) - 1;
  }

  void destroy(std::size_t page) {
    files.file.replace(page * page_bytes, page_bytes, page_bytes, '\xEE');
    write_files(path, files);
  }

  static std::string body_of(Store& store, Position position) {
    LogQuery query;
    query.from = query.to = position;
    return store.log().read(long_one(), query).value().at(0).body.bytes();
  }

  static SessionId long_one() { return SessionId::parse("ses_long").value(); }

  TempFolder folder = TempFolder::in_memory();
  const std::string path = folder.file("store.db");
  Sample sample;
  Files files;
};

TEST_F(DamagedPage, OfAVersionIsNamedWhereThatVersionIsAskedFor) {
  destroy(root_of("checkpoint"));
  const auto store = open_store(path).value();

  EXPECT_EQ(store->log().read_checkpoint(long_one(), 1).error().code, ErrorCode::corrupted);
}

TEST_F(DamagedPage, OfTheLogLeavesADamagedEntryForEachOneItHeld) {
  const auto before = open_store(path).value()->log().read(long_one(), {}).value();
  destroy(page_with(before.at(12).body.bytes()));

  const auto after = open_store(path).value()->log().read(long_one(), {}).value();

  ASSERT_EQ(after.size(), before.size());
  std::size_t damaged = 0;
  for (std::size_t i = 0; i < after.size(); ++i) {
    EXPECT_EQ(after[i].position, before[i].position);
    if (after[i].condition == Condition::damaged) {
      ++damaged;
      EXPECT_EQ(after[i].body.bytes(), "");
    } else {
      EXPECT_EQ(after[i], before[i]);
    }
  }
  EXPECT_EQ(after[12].condition, Condition::damaged);
  EXPECT_GT(damaged, 1U);
  EXPECT_LT(damaged, after.size() / 2);
  EXPECT_EQ(after.back(), before.back());
}

TEST_F(DamagedPage, OfTheLogIsReadNewestFirstAndByLimitAsWell) {
  auto before = open_store(path).value()->log().read(long_one(), {}).value();
  destroy(page_with(before.at(12).body.bytes()));
  const auto store = open_store(path).value();
  const auto forwards = store->log().read(long_one(), {}).value();

  LogQuery backwards;
  backwards.order = Order::newest_first;
  auto reversed = store->log().read(long_one(), backwards).value();
  std::ranges::reverse(reversed);
  LogQuery few;
  few.limit = 14;
  const auto first = store->log().read(long_one(), few).value();

  EXPECT_EQ(reversed, forwards);
  EXPECT_EQ(first, std::vector(forwards.begin(), forwards.begin() + 14));
}

TEST_F(DamagedPage, ThatLostARowWithoutASignShowsAGap) {
  {
    std::atomic<std::uint64_t> rows = 0;
    sqlite::Connection connection(path, "", SQLITE_OPEN_READWRITE, &rows);
    connection.execute("DELETE FROM entry WHERE id = (1 << 32) + 5");
  }

  const auto entries = open_store(path).value()->log().read(long_one(), {}).value();

  EXPECT_EQ(entries.at(4).position, 5U);
  EXPECT_EQ(entries.at(4).condition, Condition::damaged);
  EXPECT_EQ(entries.at(5).condition, Condition::intact);
}

TEST_F(DamagedPage, OfAnIndexKeepsNobodyFromReading) {
  for (const char* name : {"sqlite_autoindex_session_1", "entry_value", "session_runnable"}) {
    destroy(root_of(name));

    const auto answers = ask_everything(*open_store(path).value(), sample.named);

    EXPECT_EQ(answers, sample.answers) << name;
    EXPECT_FALSE(open_store(path).value()->upkeep().check().value().is_sound()) << name;
  }
}

TEST_F(DamagedPage, OfWorkersHidesNoSession) {
  destroy(root_of("worker"));

  const auto page = open_store(path).value()->sessions().list({.limit = 1000}).value();

  EXPECT_EQ(page.sessions.size(), sample.named.sessions.size());
}

// Its rows are still counted there, and nothing is in them: SQLite sees nothing wrong with that.
TEST_F(DamagedPage, OfSessionsIsNotTakenForAListWithoutThem) {
  const std::size_t page = root_of("session");
  std::vector<Digest> held;
  for (const Digest& key : sample.named.keys) {
    if (open_store(path).value()->ledger().find_holder(key).value()) held.push_back(key);
  }
  ASSERT_FALSE(held.empty());
  for (const std::size_t first : {page_bytes / 2, std::size_t{0}}) {
    files.file.replace(page * page_bytes + first, page_bytes / 2, page_bytes / 2, '\0');
    write_files(path, files);
    const auto store = open_store(path).value();

    const auto list = store->sessions().list({.limit = 1000}).value();
    EXPECT_TRUE(list.is_damaged) << first;
    EXPECT_LT(list.sessions.size(), sample.named.sessions.size()) << first;
    for (const SessionId& id : sample.named.sessions) {
      const auto read = store->sessions().read(id);
      const bool is_listed = std::ranges::count(list.sessions, id, &SessionSummary::id) == 1;
      EXPECT_EQ(read.has_value(), is_listed) << id.text();
      EXPECT_TRUE(read || read.error().code == ErrorCode::corrupted) << id.text();
    }
    for (const Digest& key : held) {
      const auto holder = store->ledger().find_holder(key);
      EXPECT_TRUE(!holder || holder->has_value()) << "a held key was forgotten";
    }
    const auto calls = store->ledger().list({.limit = 1000});
    ASSERT_FALSE(calls) << first;
    EXPECT_EQ(calls.error().code, ErrorCode::corrupted);
    const auto open = store->ledger().list({.states = {CallState::in_doubt}, .limit = 1000});
    ASSERT_FALSE(open) << first;
    EXPECT_EQ(open.error().code, ErrorCode::corrupted);
  }
}

// Whoever moves all that a list shows would leave the rest behind.
TEST_F(DamagedPage, OfSessionsIsNoListOfAllThatGoElsewhere) {
  const std::size_t page = root_of("session");
  files.file.replace(page * page_bytes + page_bytes / 2, page_bytes / 2, page_bytes / 2, '\0');
  write_files(path, files);
  const auto store = open_store(path).value();

  const auto plan = plan_move(*store, {.place = "elsewhere"});
  const auto copied = move_sessions(*store, *open_store("memory:").value(), {.place = "elsewhere"});

  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, ErrorCode::corrupted);
  ASSERT_FALSE(copied);
  EXPECT_EQ(copied.error().code, ErrorCode::corrupted) << copied.error().message;
}

TEST_F(DamagedPage, OfSessionsIsSeenFromEveryPageThatMeetsIt) {
  const std::size_t page = root_of("session");
  SessionQuery query{.limit = 1};
  query.cursor = open_store(path).value()->sessions().list(query).value().next;
  files.file.replace(page * page_bytes + page_bytes / 2, page_bytes / 2, page_bytes / 2, '\0');
  write_files(path, files);
  query.limit = 1000;
  EXPECT_TRUE(open_store(path).value()->sessions().list(query).value().is_damaged);
}

TEST_F(DamagedPage, OfSessionsFreesNoKeyThatOneOfThemHolds) {
  std::optional<Call> holder;
  for (const Digest& key : sample.named.keys) {
    auto found = open_store(path).value()->ledger().find_holder(key).value();
    if (found) holder = std::move(found);
  }
  ASSERT_TRUE(holder);
  {
    std::atomic<std::uint64_t> rows_read = 0;
    sqlite::Connection db(path, "", SQLITE_OPEN_READWRITE, &rows_read);
    db.run("DELETE FROM session WHERE id = ?", std::string_view(holder->session.text()));
  }
  auto store = open_store(path).value();
  const WorkerId worker = mint<WorkerTag>(random_ids());
  ASSERT_TRUE(store->ownership().enroll({.id = worker}));
  const SessionSummary other =
      store->sessions().create({.id = SessionId::parse("o").value()}).value();
  const Lease lease = store->ownership().acquire(other.id, worker).value();
  Batch batch{.id = mint<BatchTag>(random_ids()), .expected_head = other.head};
  batch.entries.push_back({.channel = "c", .kind = "k", .body = Body::from_text("1")});
  batch.calls.emplace_back(
      Intend{.call = other.next, .args = other.next, .tool = "pay", .key = holder->key});
  batch.calls.emplace_back(Dispatch{.call = other.next, .deadline = {}});

  const auto committed = store->commit(lease, batch);

  ASSERT_FALSE(committed) << "the key was free";
  EXPECT_EQ(committed.error().code, ErrorCode::corrupted) << committed.error().message;
}

TEST_F(DamagedPage, OfTheLogFailsACommitThatMeetsItAndNothingIsWritten) {
  destroy(root_of("receipt"));
  auto store = open_store(path).value();
  const WorkerId worker = mint<WorkerTag>(random_ids());
  ASSERT_TRUE(store->ownership().enroll({.id = worker}));
  const Lease lease = store->ownership().acquire(long_one(), worker).value();
  const SessionSummary before = store->sessions().read(long_one()).value();
  Batch batch{.id = mint<BatchTag>(random_ids()), .expected_head = before.head};
  batch.entries.push_back({.channel = "c", .kind = "k", .body = Body::from_text("1")});

  const auto committed = store->commit(lease, batch);

  ASSERT_FALSE(committed);
  EXPECT_EQ(committed.error().code, ErrorCode::corrupted);
  EXPECT_EQ(store->sessions().read(long_one()).value(), before);
  EXPECT_EQ(store->log().read(long_one(), {}).value().back().position, before.head);
}

TEST_F(DamagedPage, DoesNotEndACheck) {
  destroy(root_of("receipt"));
  destroy(root_of("blob"));

  const auto report = open_store(path).value()->upkeep().check();

  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(report->is_complete);
  const auto names = [&](const std::string& text) {
    return std::ranges::any_of(report->damage, [&](const Damage& damage) {
      return damage.what.find(text) != std::string::npos;
    });
  };
  EXPECT_TRUE(names("in table receipt, page"));
  EXPECT_TRUE(names("in table blob, page"));
  EXPECT_TRUE(names("the session's receipts cannot be read"));
  EXPECT_TRUE(names("the list of blobs cannot be read"));
}

TEST_F(DamagedPage, ThatIsTheFirstLeavesOnlySalvage) {
  destroy(0);

  const auto store = open_store(path);
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, ErrorCode::corrupted);
  EXPECT_NE(store.error().message.find("perdure salvage "), std::string::npos);

  const std::string saved = folder.file("saved.db");
  const auto report = salvage_store(path, saved);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->sessions, sample.named.sessions.size());
  EXPECT_EQ(report->whole, report->sessions);
  EXPECT_EQ(report->entries_lost, 0U);
  EXPECT_TRUE(open_store(saved).value()->upkeep().check().value().is_sound());
}

class Salvage : public DamagedPage {
 protected:
  const std::string saved = folder.file("saved.db");
};

TEST_F(Salvage, OfASoundStoreHoldsAllOfIt) {
  const auto report = salvage_store(path, saved).value();

  EXPECT_EQ(report.whole, sample.named.sessions.size());
  EXPECT_EQ(report.entries_lost + report.entries_damaged + report.pages_unreadable, 0U);
  auto store = open_store(saved).value();
  EXPECT_TRUE(store->upkeep().check().value().is_sound());
  Answers answers = ask_everything(*store, sample.named);
  for (const auto& [question, answer] : sample.answers) {
    if (question.find("state free") == std::string::npos) {
      EXPECT_EQ(answers[question], answer) << question;
    }
  }
}

TEST_F(Salvage, IsAStoreOfItsOwnWhoseUnfinishedSessionsArePaused) {
  const auto original = open_store(path).value();
  ASSERT_TRUE(salvage_store(path, saved));
  const auto store = open_store(saved).value();

  EXPECT_NE(store->info().incarnation, original->info().incarnation);
  const SessionSummary session = store->sessions().read(long_one()).value();
  EXPECT_EQ(session.status, Status::paused);
  EXPECT_NE(session.wait_reason, "");
  EXPECT_TRUE(session.restored);
  EXPECT_FALSE(session.holder);
  const WorkerId worker = mint<WorkerTag>(random_ids());
  ASSERT_TRUE(store->ownership().enroll({.id = worker}));
  EXPECT_GT(store->ownership().acquire(long_one(), worker).value().fence, 1ULL << 32U);
}

TEST_F(Salvage, LeavesADamagedEntryWhereOneIsLostAndACheckNamesIt) {
  const auto before = open_store(path).value()->log().read(long_one(), {}).value();
  destroy(page_with(before.at(12).body.bytes()));

  const auto report = salvage_store(path, saved).value();

  EXPECT_GT(report.entries_lost, 1U);
  EXPECT_LT(report.whole, report.sessions);
  EXPECT_GT(report.pages_unreadable, 0U);
  auto store = open_store(saved).value();
  const auto after = store->log().read(long_one(), {}).value();
  ASSERT_EQ(after.size(), before.size());
  EXPECT_EQ(after[12].condition, Condition::damaged);
  EXPECT_EQ(after.back(), before.back());
  const auto checked = store->upkeep().check().value();
  EXPECT_EQ(checked.found, report.entries_lost);
  for (const Damage& damage : checked.damage) {
    EXPECT_NE(damage.what.find("was lost before a salvage"), std::string::npos) << damage.what;
  }
}

TEST_F(Salvage, GoesOnWhereTheSessionStopped) {
  ASSERT_TRUE(salvage_store(path, saved));
  auto store = open_store(saved).value();
  const WorkerId worker = mint<WorkerTag>(random_ids());
  ASSERT_TRUE(store->ownership().enroll({.id = worker}));
  const Lease lease = store->ownership().acquire(long_one(), worker).value();
  Batch batch{.id = mint<BatchTag>(random_ids()),
              .expected_head = store->sessions().read(long_one()).value().head};
  batch.entries.push_back({.channel = "c", .kind = "k", .body = Body::from_text("1")});
  batch.status = StatusChange{};

  ASSERT_TRUE(store->commit(lease, batch));

  EXPECT_FALSE(store->sessions().read(long_one()).value().restored);
  EXPECT_TRUE(store->upkeep().check().value().is_sound());
}

TEST_F(Salvage, RefusesWhatIsNotThereWhatIsThereAlreadyAndWhatIsNoStore) {
  EXPECT_EQ(salvage_store(folder.file("none"), saved).error().code, ErrorCode::not_found);
  EXPECT_EQ(salvage_store(path, path).error().code, ErrorCode::already_exists);
  write_files(folder.file("noise"), {.file = std::string(100'000, 'x'), .log = {}});
  EXPECT_EQ(salvage_store(folder.file("noise"), saved).error().code, ErrorCode::corrupted);
  EXPECT_FALSE(read_files(saved).file.size() > 0);
}

TEST_F(Salvage, ReadsFramesBehindADamagedOneOfTheLog) {
  const std::string other = folder.file("other.db");
  const Sample logged = make_sample(other, true);
  Files damaged = read_files(other);
  damaged.log[32 + 24 + 100] ^= 1;  // The first frame.
  write_files(other, damaged);
  ASSERT_TRUE(salvage_store(other, saved));

  Answers answers = ask_everything(*open_store(saved).value(), logged.named);

  EXPECT_EQ(answers["ses_small_9 entry 0005"], logged.answers.at("ses_small_9 entry 0005"));
}

TEST_F(Salvage, FindsRowsInBytes) {
  EXPECT_GT(sqlite::count_rows(files.file, files.log), 300U);
  EXPECT_EQ(sqlite::count_rows("", ""), 0U);
  EXPECT_EQ(sqlite::count_rows("SQLite format 3", "x"), 0U);
}

}  // namespace
}  // namespace perdure
