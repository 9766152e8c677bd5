// A batch as perdure.commit takes it.

#pragma once

#include <string_view>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/store.hpp"
#include "postgres/operations/roles.hpp"

namespace perdure::postgres {

struct Committed {
  Receipt receipt;
  bool repeated = false;  ///< It was there already; nothing was written.
};

/// Fails: as Store::commit says.
[[nodiscard]] Result<Committed> commit_batch(const Access& access, const Lease& lease,
                                             const Batch& batch);

/// Fails: as Store::create says.
[[nodiscard]] Result<Committed> create_with_batch(const Access& access, const NewSession& session,
                                                  const Lease& lease, const Batch& first);

}  // namespace perdure::postgres
