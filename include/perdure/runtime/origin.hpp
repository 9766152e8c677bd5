// Where a session comes from: the scope of its effects, and the agent that it is of.
//
// On channel `origin`. Its beginning is of kind `origin`, `{"root", "nonce", "agent_digest"}`; each
// time that it goes on under another agent there is an entry of kind `agent`, `{"agent_digest",
// "parts", "who"}`.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/id_source.hpp"
#include "perdure/runtime/message.hpp"

namespace perdure {

struct Origin {
  /// The scope of `once_per_session`: the id of the oldest session of the tree, or that of a fork
  /// that was told to have effects of its own.
  std::string root{};
  /// Minted with the root and inherited by its forks, branches and children: an id may be used
  /// again, by another session or in another store. Empty: it cannot be read any more, so nothing
  /// can be done once in the tree.
  std::string nonce{};
  std::string agent_digest{};  ///< Of the agent's definition, as whoever wrote it forms it.
  Unknown unknown{};
  bool operator==(const Origin&) const = default;
};

/// From here on the session is of another agent.
struct AgentChange {
  std::string agent_digest{};
  std::vector<std::string> parts{};  ///< What is not as it was, as whoever compared names it.
  std::string who{};                 ///< Said that it may go on; empty: nobody had to.
  Unknown unknown{};
  bool operator==(const AgentChange&) const = default;
};

/// Of a session whose effects are its own.
[[nodiscard]] Origin root_origin(const SessionId& session, IdSource& ids);

[[nodiscard]] std::string to_json(const Origin& origin);
[[nodiscard]] std::string to_json(const AgentChange& change);

/// Fails: `invalid_argument` for text that is no origin; `unsupported` for a newer version.
[[nodiscard]] Result<Origin> origin_from_json(std::string_view text);
/// Fails: as origin_from_json.
[[nodiscard]] Result<AgentChange> agent_change_from_json(std::string_view text);

}  // namespace perdure
