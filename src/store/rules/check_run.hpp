// One check: what it found, and what its parts share.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "perdure/core/id.hpp"
#include "perdure/store/upkeep.hpp"

namespace perdure::rules {

// What a check has found so far.

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

// What the parts of one check share, whichever backend is checked.
//
// A part that meets rows it cannot read has found something; the others go on.

class CheckRun {
 public:
  /// `progress` must outlive it.
  explicit CheckRun(const Progress& progress) : progress_(progress) {}
  virtual ~CheckRun() = default;
  CheckRun(const CheckRun&) = delete;
  CheckRun& operator=(const CheckRun&) = delete;

  Findings found{};

  /// Runs `work`; damage that ends it is a finding: `what` could not be read.
  virtual void guard(const std::optional<SessionId>& session, std::string_view what,
                     const std::function<void()>& work) = 0;

  [[nodiscard]] CheckReport& report() { return found.report; }
  void set_total(std::uint64_t total) { step_.total = total; }
  void advance() { ++step_.done; }
  /// Tells how far it has come. False: stop.
  [[nodiscard]] bool go_on() {
    if (report().is_complete && progress_ && !progress_(step_)) report().is_complete = false;
    return report().is_complete;
  }

 private:
  const Progress& progress_;
  Step step_{};
};

}  // namespace perdure::rules
