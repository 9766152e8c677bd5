// A chair is ordered: what the scripted model says, and the programs that are its tools.

#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/agent/toolbox.hpp"
#include "perdure/core/error.hpp"

namespace perdure::agents {

/// What each response costs, in micros: so many tokens, at a micro each.
inline constexpr std::int64_t response_micros = 100;

/// For make_scripted: two looks at once; a reservation and a payment; a call to the carrier, which
/// nobody can verify; the payment again in other words, and a mail; a booking; an answer.
[[nodiscard]] std::string_view order_script();
inline constexpr std::string_view order_answer = "The chair is on its way.";
inline constexpr std::size_t order_responses = 6;

/// Operations that the world counts, but for looks.
inline constexpr std::array order_ops = {"reserve-1", "pay-1", "carrier-1", "mail-1", "book-1"};
/// The one that cannot be verified.
inline constexpr std::string_view unsafe_op = "carrier-1";

struct OrderTools {
  std::string program{};  ///< The path of world_program.
  std::string socket{};
  std::string steps{};         ///< As to_text(StepsSpec).
  std::string programs{};      ///< A file for the numbers of the programs.
  std::string state_folder{};  ///< As ExecSpec's.
  std::string gate{};          ///< Of one tool; empty: none.
  std::string gated = "pay";   ///< Which.
};

[[nodiscard]] Result<Toolbox> make_order_tools(const OrderTools& tools);

}  // namespace perdure::agents
