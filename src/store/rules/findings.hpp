// What a check has found so far.

#pragma once

#include <optional>
#include <string>

#include "perdure/core/id.hpp"
#include "perdure/store/upkeep.hpp"

namespace perdure::rules {

class Findings {
 public:
  CheckReport report{};

  void add(Damage damage);
  /// A finding that has no session or no position leaves them out.
  void add(Fault fault, const std::optional<SessionId>& session, std::string what);

  /// The report, its findings in order.
  [[nodiscard]] CheckReport finish();
};

/// "position 5", "positions 5 to 9".
[[nodiscard]] std::string positions_text(Position first, Position last);

}  // namespace perdure::rules
