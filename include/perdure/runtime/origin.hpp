// Where a session comes from, as far as its effects are concerned.
//
// Its JSON is `{"root", "agent_digest"}`.

#pragma once

#include <string>
#include <string_view>

#include "perdure/core/error.hpp"
#include "perdure/runtime/message.hpp"

namespace perdure {

struct Origin {
  /// The scope of `once_per_session`: the id of the oldest session of the tree, or a fresh one
  /// for a fork that was told to have effects of its own.
  std::string root{};
  std::string agent_digest{};  ///< Of the agent's definition, as whoever wrote it forms it.
  Unknown unknown{};
  bool operator==(const Origin&) const = default;
};

[[nodiscard]] std::string to_json(const Origin& origin);

/// Fails: `invalid_argument` for text that is no origin; `unsupported` for a newer version.
[[nodiscard]] Result<Origin> origin_from_json(std::string_view text);

}  // namespace perdure
