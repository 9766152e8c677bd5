// Tools over the world, one for each effect class and repeat rule. Their arguments name the
// business operation: {"op": "pay-1", …}.

#pragma once

#include <string>
#include <vector>

#include "perdure/runtime/tool.hpp"
#include "world/client.hpp"

namespace perdure::world {

/// "verifiable_once_per_session".
[[nodiscard]] std::string tool_name(EffectClass effect, Repeat repeat);

/// Looks something up.
[[nodiscard]] Tool read_only(const WorldClient& client, Repeat repeat = Repeat::each_call);
/// The world honours its key, for ever or until it forgets keys.
[[nodiscard]] Tool idempotent(const WorldClient& client, Repeat repeat = Repeat::each_call);
/// Its verify asks the world for the op.
[[nodiscard]] Tool verifiable(const WorldClient& client, Repeat repeat = Repeat::each_call);
[[nodiscard]] Tool unsafe(const WorldClient& client, Repeat repeat = Repeat::each_call);

/// All twelve.
[[nodiscard]] std::vector<Tool> every_tool(const WorldClient& client);

}  // namespace perdure::world
