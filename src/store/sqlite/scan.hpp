// Reading past damage: what is in a table when a plain scan of it fails.
//
// SQLite ends a scan at the first page it cannot read. What lies behind that page is
// found by asking for keys one at a time, which is slow, and only done then.

#pragma once

#include <cstdint>
#include <vector>

#include "perdure/core/id.hpp"
#include "rules/history.hpp"
#include "rules/stored_session.hpp"
#include "sqlite/connection.hpp"

namespace perdure::sqlite {

using rules::EntryVisitor;
using rules::Stretch;

/// Calls back for every position of the stretch, in order.
void scan_entries(Connection& db, const Stretch& stretch, const EntryVisitor& visit);

/// Those of the stretch's positions that no `pruned` row accounts for.
[[nodiscard]] std::vector<Stretch> not_pruned(Connection& db, const Stretch& stretch);

/// As find_session(), without the index by id. Throws damage if it is not among the
/// readable rows: it may be one of the others.
[[nodiscard]] std::int64_t find_readable_session(Connection& db, const SessionId& id);

/// The numbers of all sessions whose rows can be read, ascending.
[[nodiscard]] std::vector<std::int64_t> readable_sessions(Connection& db);

}  // namespace perdure::sqlite
