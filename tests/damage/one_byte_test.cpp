// One byte of one page, in each table in turn: what a salvage says of it, and that advice ends there.

#include <array>
#include <atomic>
#include <cstdint>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <vector>

#include "damage/sample.hpp"
#include "damage/verdict.hpp"
#include "doubles/must.hpp"
#include "doubles/temp_folder.hpp"
#include "perdure/store/store.hpp"
#include "perdure/store/upkeep.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/summing_vfs.hpp"

namespace perdure {
namespace {

constexpr std::size_t places_of_a_table = 32;

constexpr std::array<std::string_view, 10> tables_with_rows = {
    "meta",       "session", "segment", "entry", "receipt",
    "checkpoint", "call",    "message", "blob",  "worker"};

CheckReport check(const std::string& path) {
  return must(must(open_store(path, {.create = false}))->upkeep().check());
}

std::vector<std::string> texts(const std::vector<Damage>& damage) {
  std::vector<std::string> found;
  for (const Damage& each : damage)
    found.push_back(fmt::format("{}: {}", to_string(each.fault), each.what));
  return found;
}

class OneByte : public testing::TestWithParam<std::string_view> {
 protected:
  // Where rows of the table are, in the pages that hold them.
  [[nodiscard]] std::vector<std::size_t> bytes_of(std::string_view table) const {
    std::atomic<std::uint64_t> rows_read = 0;
    sqlite::Connection db(path, "", SQLITE_OPEN_READONLY, &rows_read);
    sqlite::Rows rows = db.query(
        "SELECT pageno, payload FROM dbstat WHERE name = ? AND pagetype = 'leaf' AND payload > 0",
        table);
    std::vector<std::size_t> bytes;
    while (rows.next()) {
      const std::size_t end = rows.number(0) * sqlite::summed_page_bytes - sqlite::sum_bytes;
      // Rows lie at the end of a page.
      for (std::size_t at = end - rows.number(1); at < end; ++at) bytes.push_back(at);
    }
    return bytes;
  }

  void try_byte(std::size_t at) {
    const TempFolder trial = TempFolder::in_memory();
    Files damaged = files;
    damaged.file[at] = static_cast<char>(damaged.file[at] ^ (1U << (at % 8)));
    write_files(trial.file("damaged.db"), damaged);
    const SalvageReport first = must(salvage_store(trial.file("damaged.db"), trial.file("1.db")));
    const CheckReport found = check(trial.file("1.db"));
    const SalvageReport second = must(salvage_store(trial.file("1.db"), trial.file("2.db")));

    const std::string where =
        fmt::format("{}, byte {} of page {}", GetParam(), at % sqlite::summed_page_bytes,
                    at / sqlite::summed_page_bytes + 1);
    EXPECT_EQ(first.found, found.found) << where;
    EXPECT_EQ(texts(first.damage), texts(found.damage)) << where;
    EXPECT_EQ(texts(second.damage), texts(found.damage)) << where;
    for (const Damage& damage : found.damage)
      EXPECT_NE(damage.fault, Fault::file) << where << ": " << damage.what;
  }

  TempFolder folder = TempFolder::in_memory();
  const std::string path = folder.file("store.db");
  Sample sample = make_sample(path, false);
  Files files = read_files(path);
};

TEST_P(OneByte, IsSavedOrNamedAndASecondSalvageWouldChangeNothing) {
  const std::vector<std::size_t> bytes = bytes_of(GetParam());
  ASSERT_FALSE(bytes.empty());
  // Odd: columns have sizes that are not.
  const std::size_t step = bytes.size() / places_of_a_table | 1U;
  for (std::size_t i = 0; i < bytes.size(); i += step) try_byte(bytes[i]);
}

INSTANTIATE_TEST_SUITE_P(Every, OneByte, testing::ValuesIn(tables_with_rows),
                         [](const auto& named) { return std::string(named.param); });

}  // namespace
}  // namespace perdure
