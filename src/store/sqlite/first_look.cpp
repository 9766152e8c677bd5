// Read by SQLite's own descriptor: to close one of ours would drop the locks that this process may have
// of the file.

#include "sqlite/first_look.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "perdure/core/error.hpp"
#include "sqlite/connection.hpp"
#include "sqlite/lock_file.hpp"
#include "sqlite/schema.hpp"
#include "sqlite/sqlite_store.hpp"

namespace perdure::sqlite {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view magic = "SQLite format 3\0"sv;
constexpr std::size_t kind_at = 100;   ///< Of the first page, which begins the list of tables.
constexpr std::size_t count_at = 103;  ///< How many of them are on it.
constexpr unsigned char leaf = 13;

using Header = std::array<unsigned char, count_at + 2>;

bool is_there(const std::string& path) {
  std::error_code unknown;
  return std::filesystem::exists(path, unknown) || unknown;
}

bool has_content(const std::string& path) {
  std::error_code unknown;
  return std::filesystem::file_size(path, unknown) > 0 && !unknown;
}

int read(const SqliteOptions& options, Header& header) {
  std::atomic<std::uint64_t> rows_read = 0;
  const Connection connection(options.path, options.vfs, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX,
                              &rows_read);
  sqlite3_file* file = nullptr;
  sqlite3_file_control(connection.handle(), "main", SQLITE_FCNTL_FILE_POINTER,
                       static_cast<void*>(&file));
  return file->pMethods->xRead(file, header.data(), static_cast<int>(header.size()), 0);
}

std::int64_t number(const Header& header, std::size_t at) {
  std::uint32_t made = 0;
  for (std::size_t i = at; i < at + 4; ++i) made = made << 8U | header.at(i);
  return static_cast<std::int32_t>(made);
}

bool has_tables(const Header& header) {
  return header.at(kind_at) != leaf || header.at(count_at) != 0 || header.at(count_at + 1) != 0;
}

// Its record is written when the store is there, never before.
Result<bool> knows_store(const std::string& lock_path) {
  if (!is_there(lock_path)) return false;
  auto lock_file = LockFile::open(lock_path);
  if (!lock_file) return forward(lock_file);
  return lock_file->read_record().is_sealed();
}

std::unexpected<Error> lost_file(const std::string& path, bool has_wal) {
  std::vector<std::string> left;
  for (const char* end : {"-wal", "-lock"}) {
    if (is_there(path + end)) left.push_back(path + end);
  }
  const bool is_one = left.size() == 1;
  return fail(
      ErrorCode::corrupted,
      fmt::format("{} is {}, but {} {} left of a store that was there. Nothing was "
                  "written. Put the file back, or {}; to begin anew, remove {}",
                  path, is_there(path) ? "empty" : "gone", fmt::join(left, " and "),
                  is_one ? "is" : "are",
                  has_wal ? fmt::format("save what its log holds: perdure salvage {} NEW", path)
                          : "a backup of it",
                  is_one ? "that" : "both"));
}

}  // namespace

Result<void> look_for_remains(const SqliteOptions& options) {
  const std::string& path = options.path;
  // The file last: whoever makes the store just now gives it its first page before all else.
  const bool has_wal = has_content(path + "-wal");
  auto is_known = knows_store(path + "-lock");
  if (!is_known) return forward(is_known);
  if ((!has_wal && !*is_known) || has_content(path)) return {};
  return lost_file(path, has_wal);
}

Result<void> look_at_header(const SqliteOptions& options) {
  const std::string& path = options.path;
  if (is_there(path + "-lock") || is_there(path + "-wal") || !has_content(path)) return {};
  Header header{};
  const int code = read(options, header);
  if (code != SQLITE_OK && code != SQLITE_IOERR_SHORT_READ) return {};
  if (std::string_view(reinterpret_cast<const char*>(header.data()), magic.size()) != magic) {
    return fail(ErrorCode::corrupted,
                fmt::format("{0} is not a store. If it was one, what is left of it is saved by: "
                            "perdure salvage {0} NEW",
                            path));
  }
  if (!has_tables(header)) return {};
  return check_numbers(number(header, application_at), number(header, format_at), options.steps);
}

}  // namespace perdure::sqlite
