// Erased bodies are looked for in the bytes of every file of the store.

#include <atomic>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <string>
#include <vector>

#include "doubles/must.hpp"
#include "doubles/temp_folder.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/store.hpp"
#include "store/api/lookup.hpp"
#include "store/sqlite/engine/connection.hpp"

namespace perdure {
namespace {

/// A word that occurs nowhere else, as often as fits into `size`.
std::string secret(int number, std::size_t size) {
  const std::string word = fmt::format("<secret {} of nobody>", number);
  std::string text = word;
  while (text.size() < size) text += word;
  return text;
}

class ErasedBytes : public testing::Test {
 protected:
  ErasedBytes() : store(must(open_store("sqlite:" + folder.file("store.db"), {}))) {
    must(store->ownership().enroll({.id = worker, .host = "here", .pid = 1}));
  }

  Lease session(const std::string& name) {
    const auto id = must(SessionId::parse(name));
    must(store->sessions().create({.id = id}));
    return must(store->ownership().acquire(id, worker));
  }

  Batch next(const Lease& lease, const std::string& text) {
    Batch batch;
    batch.id = mint<BatchTag>(random_ids());
    batch.expected_head = must(store->sessions().read(lease.session)).head;
    batch.entries.push_back({.channel = "transcript",
                             .kind = "message",
                             .fold = Fold::append,
                             .body = Body::from_bytes(text),
                             .tally = {},
                             .at = {}});
    batch.sync = Sync::later;
    return batch;
  }

  void say(const Lease& lease, const std::string& text) {
    must(store->commit(lease, next(lease, text)));
  }

  void post(const Lease& lease, const std::string& name, const std::string& text) {
    must(store->inbox().post(
        {lease.session, must(MessageId::parse(name)), "note", Body::from_bytes(text)}));
  }

  void consume(const Lease& lease, const std::string& name, const std::string& text) {
    Batch batch = next(lease, text);
    batch.consumed = {must(MessageId::parse(name))};
    must(store->commit(lease, batch));
  }

  /// The files in which the text occurs.
  std::vector<std::string> files_with(const std::string& text) const {
    std::vector<std::string> found;
    for (const auto& file : std::filesystem::directory_iterator(folder.path())) {
      std::ifstream stream(file.path(), std::ios::binary);
      const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
      if (bytes.contains(text)) found.push_back(file.path().filename().string());
    }
    return found;
  }

  TempFolder folder;
  std::unique_ptr<Store> store;
  WorkerId worker = mint<WorkerTag>(random_ids());
};

TEST_F(ErasedBytes, AreInNoFileOfTheStore) {
  const Lease lease = session("session");
  for (int i = 1; i <= 40; ++i) say(lease, secret(i, i % 10 == 0 ? 100'000 : 300));
  ASSERT_FALSE(files_with("<secret 7 of nobody>").empty());
  ASSERT_FALSE(files_with("<secret 20 of nobody>").empty());

  must(store->upkeep().erase(lease.session, {7, 20}));

  EXPECT_TRUE(files_with("<secret 7 of nobody>").empty());
  EXPECT_TRUE(files_with("<secret 20 of nobody>").empty());
  EXPECT_FALSE(files_with("<secret 8 of nobody>").empty());
}

TEST_F(ErasedBytes, AreGoneAlsoWhereSessionsTakeTurns) {
  std::vector<Lease> leases;
  for (int i = 0; i < 8; ++i) leases.push_back(session(fmt::format("session {}", i)));
  int number = 0;
  for (int round = 0; round < 60; ++round) {
    for (const Lease& lease : leases) {
      ++number;
      say(lease, secret(number, static_cast<std::size_t>(100 + number % 7 * 200)));
    }
  }
  int found = 0;
  for (Position position = 1; position <= 60; ++position) {
    must(store->upkeep().erase(leases[3].session, {position}));
    const auto its_number = (static_cast<int>(position) - 1) * 8 + 4;
    const auto files = files_with(fmt::format("<secret {} of nobody>", its_number));
    if (!files.empty()) ++found;
  }
  EXPECT_EQ(found, 0);
}

TEST_F(ErasedBytes, AreNotInTheInboxThatTheyCameThroughEither) {
  const Lease lease = session("session");
  post(lease, "m", secret(1, 50'000));
  consume(lease, "m", secret(1, 50'000));

  must(store->upkeep().erase(lease.session, {1}));

  EXPECT_TRUE(files_with("<secret 1 of nobody>").empty());
}

// The page that a consumed message leaves is taken by the next long body, which does not fill it.
TEST_F(ErasedBytes, AreNotBehindTheEndOfAnotherBody) {
  const Lease lease = session("session");
  for (int i = 1; i <= 8; ++i) {
    post(lease, fmt::format("m{}", i), secret(i, 9'000));
    consume(lease, fmt::format("m{}", i), secret(i, 9'000));
    say(lease, std::string(8'300, 'x'));
  }
  std::vector<Position> positions;
  for (Position i = 1; i <= 15; i += 2) positions.push_back(i);

  must(store->upkeep().erase(lease.session, positions));

  for (int i = 1; i <= 8; ++i) {
    EXPECT_TRUE(files_with(fmt::format("<secret {} of nobody>", i)).empty()) << i;
  }
  for (const Entry& entry : must(store->log().read(lease.session, {}))) {
    const bool is_erased = entry.position % 2 == 1;
    EXPECT_EQ(entry.condition, is_erased ? Condition::erased : Condition::intact);
  }
  EXPECT_TRUE(must(store->upkeep().check()).is_sound());
}

TEST_F(ErasedBytes, WaitForAReaderThatMaySeeThemYet) {
  const Lease lease = session("session");
  say(lease, secret(1, 300));
  {
    std::atomic<std::uint64_t> rows_read = 0;
    sqlite::Connection reader(folder.file("store.db"), "", SQLITE_OPEN_READWRITE, &rows_read);
    reader.run("BEGIN");
    EXPECT_TRUE(reader.query("SELECT 1 FROM entry").next());

    const auto erased = store->upkeep().erase(lease.session, {1});
    ASSERT_FALSE(erased);
    EXPECT_EQ(erased.error().code, ErrorCode::unavailable);
    EXPECT_EQ(must(store->log().read(lease.session, {})).front().condition, Condition::erased);
    reader.run("COMMIT");
  }
  must(store->upkeep().erase(lease.session, {1}));

  EXPECT_TRUE(files_with("<secret 1 of nobody>").empty());
}

TEST_F(ErasedBytes, LeaveASoundFileBehind) {
  const Lease lease = session("session");
  for (int i = 1; i <= 200; ++i) say(lease, secret(i, static_cast<std::size_t>(50 + i % 11 * 300)));
  for (Position position = 2; position <= 200; position += 3) {
    must(store->upkeep().erase(lease.session, {position}));
  }
  std::atomic<std::uint64_t> rows_read = 0;
  sqlite::Connection db(folder.file("store.db"), "", SQLITE_OPEN_READWRITE, &rows_read);
  sqlite::Rows rows = db.query("PRAGMA integrity_check");
  ASSERT_TRUE(rows.next());
  EXPECT_EQ(rows.text(0), "ok");
  const auto entries = must(store->log().read(lease.session, {}));
  for (const Entry& entry : entries) {
    const bool is_erased = entry.position % 3 == 2;
    EXPECT_EQ(entry.condition, is_erased ? Condition::erased : Condition::intact);
  }
}

}  // namespace
}  // namespace perdure
