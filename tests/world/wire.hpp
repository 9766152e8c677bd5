// What goes between the world and those who speak to it: one JSON object a line.
//
//   {"request": "effect", "op", "key", "tool", "args", "honours_key"}
//   {"request": "look", "op", "tool"}       reads, and is counted as a request
//   {"request": "verify", "op" | "key"}     reads, and is not
//   {"request": "plan", "fate", "of", "tool", "op", "nth", "after"}
//   {"request": "deliver"}                  late requests land now
//   {"request": "release"}                  held answers are given now
//   {"request": "forget_keys"}              a vendor's key window has passed
//   {"request": "await", "op", "requests"}  answered once there were so many of that op
//   {"request": "count", "op"}, {"request": "all"}, {"request": "quit"}
//
// The answer is {"answer": …}, or {"denied": why}: nothing happened. Or there is none.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/core/json.hpp"

namespace perdure::world {

/// What the network, or the vendor, makes of a request.
enum class Fate : std::uint8_t {
  none,
  lose_request,  ///< It never arrives; the connection is closed.
  lose_answer,   ///< It is applied; the connection is closed.
  late,          ///< The connection is closed; it is applied later.
  twice,         ///< The network duplicates it; the first answer is given.
  hang,          ///< It is applied; the answer is held until `release`.
  deny,          ///< The vendor says that nothing happened, which is true.
};

inline constexpr std::array all_fates = {
    Fate::none,  Fate::lose_request, Fate::lose_answer, Fate::late,
    Fate::twice, Fate::hang,         Fate::deny,
};

[[nodiscard]] std::string_view to_string(Fate fate);
[[nodiscard]] std::optional<Fate> fate_from(std::string_view text);

/// What really happened of one business operation.
struct Tally {
  std::string op{};
  std::vector<std::string> requests{};  ///< The key of each that was sent, lost ones too.
  std::vector<std::string> effects{};   ///< The key of each time that it took effect.

  bool operator==(const Tally&) const = default;
};

[[nodiscard]] Json to_json(const Tally& tally);
[[nodiscard]] Tally tally_from(const Json& json);

// A member of that name, or what stands for its absence.
[[nodiscard]] std::string text_of(const Json& object, std::string_view member);
[[nodiscard]] std::int64_t number_of(const Json& object, std::string_view member,
                                     std::int64_t absent = 0);
[[nodiscard]] bool flag_of(const Json& object, std::string_view member);

}  // namespace perdure::world
