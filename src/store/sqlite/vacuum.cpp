// Free pages go from the end of the file, those in use there move to the front. The file
// itself shrinks when the WAL is written back.

#include "sqlite/vacuum.hpp"

#include <cstdint>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/store/upkeep.hpp"
#include "sqlite/connection.hpp"
#include "sqlite/garbage.hpp"
#include "sqlite/roles.hpp"
#include "sqlite/slices.hpp"

namespace perdure::sqlite {
namespace {

std::uint64_t count_of(Connection& db, std::string_view statement) {
  Rows rows = db.query(statement);
  return rows.next() ? rows.number(0) : 0;
}

}  // namespace

Result<Freed> shrink_file(Slices& slices) {
  Freed freed;
  const std::string statement = fmt::format("PRAGMA incremental_vacuum({})", slice_pages);
  auto shrunk = slices.run([&](Connection& db) -> Result<bool> {
    const std::uint64_t before = count_of(db, "PRAGMA page_count");
    db.execute(statement);
    const std::uint64_t after = count_of(db, "PRAGMA page_count");
    const std::uint64_t left = count_of(db, "PRAGMA freelist_count");
    freed.items += before - after;
    freed.bytes += (before - after) * count_of(db, "PRAGMA page_size");
    slices.step.done += before - after;
    slices.step.total = slices.step.done + left;
    return left > 0 && before > after;
  });
  if (!shrunk) return forward(shrunk);
  return freed;
}

Result<Freed> SqliteRoles::vacuum(const Progress& progress) {
  Slices slices(access_.writer, progress);
  auto garbage = access_.readers.read(
      [](Connection& db) -> Result<std::vector<std::int64_t>> { return list_garbage(db); });
  if (!garbage) return forward(garbage);
  if (auto cleared = clear_garbage(slices, *std::move(garbage)); !cleared) return forward(cleared);

  auto freed = shrink_file(slices);
  if (!freed) return forward(freed);
  if (auto finished = slices.finish(); !finished) return forward(finished);
  // Where readers still need the WAL, the file shrinks a little later.
  if (auto emptied = access_.writer.empty_wal(); !emptied) return forward(emptied);
  return *freed;
}

}  // namespace perdure::sqlite
