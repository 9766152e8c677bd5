// Applying one batch, inside the writer's transaction.

#pragma once

#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/commit.hpp"
#include "rules/chain.hpp"
#include "sqlite/connection.hpp"

namespace perdure::sqlite {

struct Committed {
  Receipt receipt;
  bool repeated = false;
};

/// Writes something that changes nothing: a sync covers all frames before it in the WAL.
void write_frame(Connection& db);

/// As Store::commit; the batch has passed rules::check.
[[nodiscard]] Result<Committed> apply_batch(Connection& db, const Lease& lease, const Batch& batch,
                                            const rules::Sealed& sealed);

/// Creates one session; it has passed rules::check.
/// Fails: `already_exists`; `not_found` for its origin.
[[nodiscard]] Result<void> insert_session(Connection& db, const NewSession& session, Timestamp now);

/// Replaces the given parts. No revision is counted.
void update_annotation(Connection& db, std::int64_t session, const Annotation& annotation);

}  // namespace perdure::sqlite
