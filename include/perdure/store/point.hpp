// A point of a session's history: its head, a version, or a position.

#pragma once

#include <cstdint>

#include "perdure/store/entry.hpp"

namespace perdure {

class Point {
 public:
  enum class Kind : std::uint8_t { head, version, position };

  /// The head of the active line.
  constexpr Point() = default;
  [[nodiscard]] static constexpr Point head() { return {}; }
  [[nodiscard]] static constexpr Point version(Version number) { return {Kind::version, number}; }
  /// Also a position on a line that a branch has left: the history up to it.
  [[nodiscard]] static constexpr Point position(Position place) { return {Kind::position, place}; }

  [[nodiscard]] constexpr Kind kind() const { return kind_; }
  /// The version or position; 0 for the head.
  [[nodiscard]] constexpr std::uint64_t number() const { return number_; }

  bool operator==(const Point&) const = default;

 private:
  constexpr Point(Kind kind, std::uint64_t number) : kind_(kind), number_(number) {}

  Kind kind_ = Kind::head;
  std::uint64_t number_ = 0;
};

}  // namespace perdure
