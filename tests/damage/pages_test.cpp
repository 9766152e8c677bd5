// Damage where no hash and no structure tells of it: found by the sums of pages, and named.
// And what looks like damage, and is none.

#include <algorithm>
#include <atomic>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>
#include <string>
#include <thread>

#include "damage/sample.hpp"
#include "damage/verdict.hpp"
#include "doubles/temp_folder.hpp"
#include "perdure/store/store.hpp"
#include "perdure/store/upkeep.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/summing_vfs.hpp"
#include "sqlite/salvage/row_finder.hpp"

namespace perdure {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Optional;
using testing::UnorderedElementsAre;

std::vector<std::string> texts(const CheckReport& report) {
  std::vector<std::string> found;
  for (const Damage& damage : report.damage) found.push_back(damage.what);
  return found;
}

std::vector<std::string> damage_texts(const std::string& path) {
  return texts(open_store(path, {.create = false}).value()->upkeep().check().value());
}

/// Pages of a file that do not match their sums, without asking SQLite.
std::vector<std::size_t> wrong_pages(const std::string& bytes) {
  std::vector<std::size_t> wrong;
  for (std::size_t page = 0; page < bytes.size() / sqlite::summed_page_bytes; ++page) {
    const auto number = static_cast<std::uint32_t>(page + 1);
    const std::string_view all = bytes;
    if (!sqlite::has_right_sum(
            all.substr(page * sqlite::summed_page_bytes, sqlite::summed_page_bytes), number)) {
      wrong.push_back(number);
    }
  }
  return wrong;
}

std::string sum_of(std::size_t page, const std::string& where) {
  return fmt::format("the file is damaged: {}page {}", where, page + 1);
}

class Pages : public testing::Test {
 protected:
  void make(bool in_wal) {
    sample = make_sample(path, in_wal);
    files = read_files(path);
  }

  std::size_t flip_after(const std::string& text) {
    const std::size_t found = files.file.find(text);
    EXPECT_NE(found, std::string::npos);
    const std::size_t at = found + text.size() - 1;
    files.file[at] = static_cast<char>(files.file[at] ^ 1);
    return at / sqlite::summed_page_bytes;
  }

  TempFolder folder = TempFolder::in_memory();
  const std::string path = folder.file("store.db");
  Sample sample;
  Files files;
};

TEST_F(Pages, OfAStoreThatWasClosedHaveSums) {
  make(false);
  EXPECT_THAT(wrong_pages(files.file), IsEmpty());
}

TEST_F(Pages, WithAnotherTitleAreFoundAndNamed) {
  make(false);
  const std::size_t page = flip_after("Small 4");
  write_files(path, files);

  EXPECT_THAT(damage_texts(path),
              UnorderedElementsAre(sum_of(page, "in table session, ") + " does not match its sum"));
  EXPECT_EQ(
      open_store(path).value()->sessions().read(SessionId::parse("ses_small_4").value())->title,
      "Small 5")
      << "it is read as it is";
}

TEST_F(Pages, ThatChangeBehindAnOpenStoreAreFound) {
  make(false);
  const auto store = open_store(path).value();
  ASSERT_EQ(ask_everything(*store, sample.named), sample.answers);
  const std::size_t page = flip_after("Small 4");
  write_files(path, files);

  EXPECT_THAT(texts(store->upkeep().check().value()),
              UnorderedElementsAre(sum_of(page, "in table session, ") + " does not match its sum"));
}

TEST_F(Pages, InThePlaceOfOneAnotherAreFound) {
  make(false);
  // Two pages that are alike in all but their place.
  for (const std::size_t at : {10U, 11U}) {
    files.file.replace(at * sqlite::summed_page_bytes, sqlite::summed_page_bytes, files.file,
                       12 * sqlite::summed_page_bytes, sqlite::summed_page_bytes);
  }
  write_files(path, files);

  const auto found = damage_texts(path);

  EXPECT_THAT(found, Contains(HasSubstr("page 11 does not match its sum")));
  EXPECT_THAT(found, Contains(HasSubstr("page 12 does not match its sum")));
  EXPECT_THAT(found, testing::Not(Contains(HasSubstr("page 13 does not match its sum"))));
}

// It is in memory as soon as a connection is open.
TEST_F(Pages, TheFirstOneIsNoExceptionAndIsNotCopied) {
  make(false);
  files.file[80] = 'x';  // SQLite has no use for it yet.
  write_files(path, files);

  EXPECT_THAT(damage_texts(path), Contains(HasSubstr("page 1 does not match its sum")));
  const auto backed_up = open_store(path).value()->upkeep().backup(folder.file("copy.db"));
  ASSERT_FALSE(backed_up);
  EXPECT_EQ(backed_up.error().code, ErrorCode::corrupted);
}

TEST_F(Pages, OfTheMapOfPagesAreNamedSo) {
  make(false);
  files.file[sqlite::summed_page_bytes + 5000] = 'x';  // The unused end of it.
  write_files(path, files);

  EXPECT_THAT(damage_texts(path),
              UnorderedElementsAre("the file is damaged: page 2 of the map of pages does not match "
                                   "its sum"));
}

TEST_F(Pages, OfLongBodiesAreNamedByTheirTable) {
  make(false);
  std::atomic<std::uint64_t> rows_read = 0;
  std::uint64_t page = 0;
  {
    sqlite::Connection db(path, "", SQLITE_OPEN_READONLY, &rows_read);
    sqlite::Rows rows = db.query(
        "SELECT pageno FROM dbstat WHERE name = 'blob' AND pagetype = 'overflow' "
        "ORDER BY path DESC LIMIT 1");
    ASSERT_TRUE(rows.next());
    page = rows.number(0) - 1;
  }
  files = read_files(path);
  files.file[page * sqlite::summed_page_bytes + 8180] = '!';
  write_files(path, files);

  EXPECT_THAT(damage_texts(path),
              Contains(sum_of(page, "in table blob, ") + " does not match its sum"));
}

TEST_F(Pages, OfEntriesAreNamedByTheirSession) {
  make(false);
  const auto id = SessionId::parse("ses_long").value();
  const auto entries = open_store(path).value()->log().read(id, {}).value();
  const auto longest = std::ranges::max_element(
      entries, {}, [](const Entry& entry) { return entry.body.bytes().size(); });
  ASSERT_GT(longest->body.bytes().size(), 2 * sqlite::summed_page_bytes);
  const std::size_t page = flip_after(longest->body.bytes().substr(12'000, 20));
  write_files(path, files);

  const auto report = open_store(path).value()->upkeep().check().value();

  EXPECT_THAT(report.damage, Contains(AllOf(Field(&Damage::session, Optional(id)),
                                            Field(&Damage::what, sum_of(page, "in table entry, ") +
                                                                     " does not match its sum"))))
      << testing::PrintToString(texts(report));
}

class FreePages : public Pages {
 protected:
  /// A free page that no other page leads through, counted from 0.
  std::size_t free_page() {
    make(false);
    std::atomic<std::uint64_t> rows_read = 0;
    {
      sqlite::Connection db(path, "", SQLITE_OPEN_READWRITE, &rows_read);
      db.execute("DELETE FROM message; DELETE FROM blob");
    }
    files = read_files(path);
    const std::size_t trunk = sqlite::big_endian_32(files.file, 32) - 1;
    EXPECT_GT(sqlite::big_endian_32(files.file, trunk * sqlite::summed_page_bytes + 4), 0U);
    return sqlite::big_endian_32(files.file, trunk * sqlite::summed_page_bytes + 8) - 1;
  }

  [[nodiscard]] std::vector<std::string> check_sums() const {
    auto found = damage_texts(path);
    std::erase_if(found, [](const std::string& what) {
      return what.find("does not match its sum") == std::string::npos;
    });
    return found;
  }
};

TEST_F(FreePages, ThatChangedAreFound) {
  const std::size_t page = free_page();
  files.file[page * sqlite::summed_page_bytes + 777] ^= 1;
  write_files(path, files);

  EXPECT_THAT(check_sums(),
              UnorderedElementsAre(sum_of(page, "") + ", which is free, does not match its sum"));
}

TEST_F(FreePages, ThatWereNeverWrittenAreSound) {
  const std::size_t page = free_page();
  files.file.replace(page * sqlite::summed_page_bytes, sqlite::summed_page_bytes,
                     sqlite::summed_page_bytes, '\0');
  write_files(path, files);

  EXPECT_THAT(check_sums(), IsEmpty());
}

// As a crash leaves them in the middle of a checkpoint.
TEST_F(Pages, HalfWrittenAreFoundOnlyIfTheLogHasNoCopyOfThem) {
  make(true);
  std::set<std::size_t> in_log;
  for (std::size_t at = 32; at + 24 + sqlite::summed_page_bytes <= files.log.size();
       at += 24 + sqlite::summed_page_bytes) {
    in_log.insert(sqlite::big_endian_32(files.log, at));
  }
  const std::size_t pages = files.file.size() / sqlite::summed_page_bytes;
  for (std::size_t page = 1; page < pages; ++page) {
    const Files before = files;
    files.file.replace(page * sqlite::summed_page_bytes + 512, 512, 512, '\0');
    files.file[page * sqlite::summed_page_bytes + 8190] ^= 1;
    write_files(path, files);
    const bool is_needed = !in_log.contains(page + 1);

    const auto found = damage_texts(path);

    EXPECT_EQ(std::ranges::any_of(found,
                                  [&](const std::string& what) {
                                    return what.find(fmt::format("page {} does not match its sum",
                                                                 page + 1)) != std::string::npos;
                                  }),
              is_needed)
        << testing::PrintToString(found);
    EXPECT_EQ(found.empty(), !is_needed) << testing::PrintToString(found);
    files = before;
  }
  EXPECT_GT(in_log.size(), 5U);
  EXPECT_LT(in_log.size(), pages);
}

TEST_F(Pages, OfABackupAndOfASalvageHaveSums) {
  make(false);
  const std::string copy = folder.file("copy.db");
  const std::string saved = folder.file("saved.db");
  ASSERT_TRUE(open_store(path).value()->upkeep().backup(copy));
  ASSERT_TRUE(salvage_store(path, saved));

  for (const std::string& made : {copy, saved}) {
    EXPECT_THAT(wrong_pages(read_files(made).file), IsEmpty()) << made;
    EXPECT_THAT(damage_texts(made), IsEmpty()) << made;
    EXPECT_THAT(wrong_pages(read_files(made).file), IsEmpty()) << made << " after it was opened";
  }
}

// Checkpoints write pages while the check reads them.
TEST_F(Pages, ThatAreWrittenMeanwhileAreSound) {
  make(false);
  auto store = open_store(path).value();
  auto other = open_store(path).value();
  const WorkerId worker = mint<WorkerTag>(random_ids());
  ASSERT_TRUE(other->ownership().enroll({.id = worker}));
  const Lease lease =
      other->ownership().acquire(SessionId::parse("ses_long").value(), worker).value();
  std::atomic<int> commits = 0;
  std::atomic<bool> ended = false;
  {
    const std::jthread writer([&](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        Batch batch{.id = mint<BatchTag>(random_ids()),
                    .expected_head = other->sessions().read(lease.session).value().head};
        batch.entries.push_back(
            {.channel = "c", .kind = "k", .body = Body::from_text(std::string(200'000, 'x'))});
        if (!other->commit(lease, batch)) break;
        ++commits;
      }
      ended = true;
    });
    for (int checks = 0; checks < 8 || (commits < 100 && !ended); ++checks) {
      EXPECT_THAT(texts(store->upkeep().check().value()), IsEmpty());
    }
  }
  EXPECT_GE(commits, 100);
}

}  // namespace
}  // namespace perdure
