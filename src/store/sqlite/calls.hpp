// The ledger's side of a commit: calls change state, keys are claimed.

#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/store/ledger.hpp"
#include "sqlite/connection.hpp"

namespace perdure::sqlite {

/// Which call holds a key (rules::holds_key): those that were refused it are not read.
inline constexpr std::string_view where_holds_key =
    "WHERE c.key = ? AND c.state IN ('dispatched', 'in_doubt', 'succeeded', 'abandoned')";

/// The commit the changes belong to, after its entries were appended.
struct CallScope {
  SessionId id;
  std::int64_t session = 0;
  SegmentId segment = 0;
  Fence fence = 0;
  Position first = 0;
  Position head = 0;
  Timestamp at{};
};

/// Applies the changes in order and returns by how much the number of calls in
/// doubt changed. Fails: as Store::commit says of calls.
[[nodiscard]] Result<std::int64_t> apply_calls(Connection& db, const CallScope& scope,
                                               const std::vector<CallChange>& changes);

}  // namespace perdure::sqlite
