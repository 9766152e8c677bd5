// A session with six calls, played against the world by a model that is a function of what it
// is told. Whoever is killed on the way plays on from where the log ends.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doubles/fake_clock.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "world/client.hpp"

namespace perdure::effects {

/// What the model does when a call came to nothing that it knows of. For one that failed it always
/// asks again.
enum class Manner : std::uint8_t {
  goes_on,   ///< Never asks for it again.
  reissues,  ///< Asks once more, in the same words.
  rewords,   ///< Asks once more, in other words.
};

[[nodiscard]] std::string_view to_string(Manner manner);
[[nodiscard]] std::optional<Manner> manner_from(std::string_view text);

/// The tools, whose second attempts do not start: what such a one says must not end a call of which
/// the first may have taken effect.
[[nodiscard]] std::vector<Tool> unlucky(std::vector<Tool> tools);

/// What one response costs.
inline constexpr std::int64_t response_micros = 100;

/// The world's name for the response that the model gives to so many messages.
[[nodiscard]] std::string response_op(std::size_t messages);

/// What the model says to a conversation. `prefix`: of all it does in the world.
[[nodiscard]] Message next_response(const std::vector<Message>& history, Manner manner,
                                    const std::string& prefix = {});

struct Player {
  Runtime& runtime;
  SessionId session{};
  WorldClient world;
  FakeClock& clock;
  Manner manner = Manner::goes_on;
  /// Called with "reserving OP" before the request for a response is committed, "asking OP" before
  /// it is bought, "answered OP" once it is committed, and "later CALL" before the clock is moved to
  /// wait for one.
  std::function<void(const std::string&)> say{};
  /// For an owner that lives.
  Duration wait{0};
  /// Of all it does in the world, where several sessions share one.
  std::string prefix{};
  /// Off: returns what it waits for, also if that is time.
  bool moves_clock = true;
};

/// Plays to the end of the turn, or until somebody has to decide. Waits for time by moving the
/// clock. Fails: as the runtime does.
[[nodiscard]] Result<std::optional<Waiting>> play(const Player& player);

}  // namespace perdure::effects
