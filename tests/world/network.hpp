// The network before the vendor: it loses, delays and duplicates requests, as a test planned.
//
// Nothing here takes time: a late request lands when the test says so, or after a number of
// further requests. Plans and requests under way are not in any file: a server that dies has
// lost them, as a network does.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "world/vendor.hpp"
#include "world/wire.hpp"

namespace perdure::world {

/// What becomes of a request, seen from the one who sent it.
struct Carried {
  enum class End : std::uint8_t { answer, close, hold };
  End end = End::answer;
  Json answer{};  ///< To give now, or to hold back.
};

class Network {
 public:
  explicit Network(Vendor& vendor) : vendor_(vendor) {}

  /// `request` is an `effect`, a `look` or a `verify`.
  [[nodiscard]] Carried carry(const Json& request);
  /// Every plan counts each request that fits it. Of those that are due, the oldest decides and is
  /// used up; the others stay due.
  /// Fails: `invalid_argument` for a fate nobody knows, or an `nth` below 1.
  [[nodiscard]] Result<void> plan(const Json& request);
  void deliver();

 private:
  struct Plan {
    Fate fate = Fate::none;
    std::string of{};    ///< The kind of request.
    std::string tool{};  ///< Empty: any.
    std::string op{};    ///< Empty: any.
    std::int64_t nth = 1;
    std::int64_t after = 0;
  };
  struct Late {
    Json request{};
    std::int64_t after = 0;  ///< So many further requests; 0: until it is delivered.
  };

  [[nodiscard]] Plan take_plan(const Json& request);
  [[nodiscard]] Carried end_of(const Json& request, const Plan& plan);
  /// The first `count` of those that are late.
  void move_on(std::size_t count);

  Vendor& vendor_;
  std::vector<Plan> plans_;
  std::vector<Late> late_;
};

}  // namespace perdure::world
