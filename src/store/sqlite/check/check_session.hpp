// What a check knows of one session before it reads its log.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "perdure/store/log.hpp"
#include "rules/stored_session.hpp"
#include "sqlite/check/check_run.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/line.hpp"

namespace perdure::sqlite {

/// The totals of a line, from its entries and what was pruned of it; empty if one of
/// its entries is lost, so that nobody can tell.
[[nodiscard]] std::optional<Tally> count_tally(Connection& db, Place place);

/// Whether the segment has the entry, or had it before it was pruned.
[[nodiscard]] bool is_accounted_for(Connection& db, Place place);

/// The calls whose intents are among the commit's entries.
void visit_calls(Connection& db, const rules::StoredSummary& session,
                 const rules::StoredCommit& commit,
                 const std::function<void(const rules::StoredCall&)>& visit);

/// Whether a body that names a blob names one that is there.
[[nodiscard]] bool is_blob_there(Connection& db, const Body& body);

}  // namespace perdure::sqlite
