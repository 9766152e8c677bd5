// What a user's code may throw in these tests.

#pragma once

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace perdure {

enum class Thrown : std::uint8_t { exception, number };

inline constexpr std::array all_thrown = {Thrown::exception, Thrown::number};

[[noreturn]] inline void throw_it(Thrown what) {
  if (what == Thrown::exception) throw std::runtime_error("no room");
  throw 42;
}

/// How an error ends that names it.
[[nodiscard]] inline std::string threw(std::string_view name, Thrown what) {
  return std::string(name) + " threw: " +
         (what == Thrown::exception ? "no room" : "something that is not a std::exception");
}

}  // namespace perdure
