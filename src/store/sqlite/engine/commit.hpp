// A commit as rows.

#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/store.hpp"
#include "rules/chain.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/workers.hpp"

namespace perdure::sqlite {

/// Which call holds a key (rules::holds_key): those that were refused it are not read.
inline constexpr std::string_view where_holds_key =
    "WHERE c.key = ? AND c.state IN ('dispatched', 'in_doubt', 'succeeded', 'abandoned')";

/// A session's first batch.
struct First {
  const Batch& batch;
  const rules::Sealed& sealed;
};

struct Committed {
  Receipt receipt;
  bool repeated = false;
};

/// Writes something that changes nothing: a sync covers all frames before it in the WAL.
void write_frame(Connection& db);

/// As Store::commit; the batch has passed rules::check.
[[nodiscard]] Result<Committed> apply_batch(Connection& db, const Lease& lease, const Batch& batch,
                                            const rules::Sealed& sealed);

/// As Store::create; session and batch have passed rules::check.
[[nodiscard]] Result<Committed> apply_first(Connection& db, const Workers& workers,
                                            const NewSession& session, const Lease& lease,
                                            const First& first);

/// The number of a worker that lives. Fails: `lease_lost`.
[[nodiscard]] Result<std::int64_t> require_live_worker(Connection& db, const Workers& workers,
                                                       const WorkerId& id);

/// Creates one session; it has passed rules::check.
/// Fails: `already_exists`; `not_found` for its origin.
[[nodiscard]] Result<void> insert_session(Connection& db, const NewSession& session, Timestamp now);

/// Replaces the given parts. No revision is counted.
void update_annotation(Connection& db, std::int64_t session, const Annotation& annotation);

}  // namespace perdure::sqlite
