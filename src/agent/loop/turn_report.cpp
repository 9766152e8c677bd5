// The words for how a turn ended.

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "loop/marks.hpp"
#include "perdure/agent/agent.hpp"
#include "perdure/runtime/conversation.hpp"
#include "perdure/runtime/state.hpp"

namespace perdure {
namespace {

constexpr std::array turn_stops = {
    std::pair{TurnStop::completed, std::string_view("completed")},
    std::pair{TurnStop::max_iterations, std::string_view("max_iterations")},
    std::pair{TurnStop::deadline, std::string_view("deadline")},
    std::pair{TurnStop::budget, std::string_view("budget")},
    std::pair{TurnStop::incomplete_plan, std::string_view("incomplete_plan")},
    std::pair{TurnStop::loop, std::string_view("loop")},
    std::pair{TurnStop::needs_attention, std::string_view("needs_attention")},
    std::pair{TurnStop::waiting, std::string_view("waiting")},
    std::pair{TurnStop::interrupted, std::string_view("interrupted")},
    std::pair{TurnStop::refused, std::string_view("refused")},
};

}  // namespace

std::string_view to_string(TurnStop stop) {
  const auto* const found =
      std::ranges::find(turn_stops, stop, &decltype(turn_stops)::value_type::first);
  return found == turn_stops.end() ? std::string_view("") : found->second;
}

bool has_unknown_cost(const Message& response) { return loop::is_unpriced(response); }

bool has_unknown_cost(const State& state) {
  return std::ranges::any_of(state.transcript, [](const PlacedMessage& placed) {
    return has_unknown_cost(placed.message);
  });
}

std::optional<TurnStop> turn_stop_from(std::string_view text) {
  const auto* const found =
      std::ranges::find(turn_stops, text, &decltype(turn_stops)::value_type::second);
  return found == turn_stops.end() ? std::nullopt : std::optional(found->first);
}

}  // namespace perdure
