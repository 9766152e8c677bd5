// Bodies are emptied in their rows; a VACUUM then takes the old versions of the rows out of reach.
// Where the server kept those bytes, it overwrites them when it uses the space again, not before:
// that, its WAL and its standbys are beyond us.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/upkeep.hpp"
#include "postgres/client/connection.hpp"
#include "postgres/client/params.hpp"
#include "postgres/client/rows.hpp"
#include "postgres/client/values.hpp"
#include "postgres/operations/roles.hpp"
#include "postgres/upkeep/slices.hpp"
#include "postgres/upkeep/vacuum.hpp"

namespace perdure::postgres {
namespace {

/// Side by side, as parameters want them.
struct Entries {
  std::int64_t session = 0;  ///< From where they are seen.
  bool is_here = false;      ///< That one was not moved.
  std::vector<std::int64_t> owners{};
  std::vector<std::int64_t> positions{};
};

Result<Entries> find_entries(const Access& access, const SessionId& session,
                             const std::vector<Position>& positions) {
  std::vector<std::int64_t> sought;
  sought.reserve(positions.size());
  for (const Position position : positions) sought.push_back(sendable(position));
  return access.client.read([&](Connection& db) -> Result<Entries> {
    Rows rows =
        db.query("SELECT * FROM perdure.entry_owners($1, $2)", Params::of(session.text(), sought));
    Entries entries;
    while (rows.next()) {
      entries.session = rows.integer(0);
      entries.owners.push_back(rows.integer(1));
      entries.positions.push_back(rows.integer(2));
    }
    Rows here = db.query("SELECT moved IS NULL FROM perdure.session WHERE id = $1",
                         Params::of(session.text()));
    entries.is_here = here.next() && here.boolean(0);
    return entries;
  });
}

Result<Freed> empty_bodies(const Access& access, const Entries& entries) {
  const std::span<const std::int64_t> owners(entries.owners);
  const std::span<const std::int64_t> positions(entries.positions);
  Freed freed;
  std::size_t next = 0;
  const Progress none;
  Slices slices(none);
  auto emptied = slices.run([&]() -> Result<bool> {
    const std::size_t count = std::min<std::size_t>(slice_rows, owners.size() - next);
    if (count == 0) return false;
    auto slice =
        access.write("SELECT * FROM perdure.erase_slice($1, $2, $3, $4, $5)",
                     Params::of(entries.session, owners.subspan(next, count),
                                positions.subspan(next, count), slice_bytes, entries.is_here));
    if (!slice) return forward(slice);
    if (!slice->next()) return false;
    next += slice->number(0);
    freed.items += slice->number(1);
    freed.bytes += slice->number(2);
    return next < owners.size();
  });
  if (!emptied) return forward(emptied);
  return freed;
}

}  // namespace

Result<Freed> PostgresRoles::erase(const SessionId& session,
                                   const std::vector<Position>& positions) {
  auto entries = find_entries(access_, session, positions);
  if (!entries) return forward(entries);
  auto freed = empty_bodies(access_, *entries);
  if (!freed) return forward(freed);
  // Messages too: the body of a consumed one came into the log, and its old row has it still.
  for (const char* table : {"entry", "message"}) {
    if (auto vacuumed = vacuum_table(access_.client, table); !vacuumed) return forward(vacuumed);
  }
  return freed;
}

}  // namespace perdure::postgres
