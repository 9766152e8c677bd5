// What an agent set out to do, and how it knows that it is done.
//
// Its JSON is `{"id", "objective", "created_at", "steps": [{"id", "description",
// "status", "evidence"?, "notes"}], "postconditions": [{"description", "satisfied",
// "evidence"?}]}`.
//
// A step is done, and a postcondition satisfied, only with evidence: a claim is not
// enough. The functions here hold that; a plan that was read without it is kept as it
// is, and does not count as ready.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/message.hpp"

namespace perdure {

enum class StepStatus : std::uint8_t { pending, in_progress, done, blocked };

[[nodiscard]] std::string_view to_string(StepStatus status);
[[nodiscard]] std::optional<StepStatus> step_status_from(std::string_view text);

struct PlanStep {
  std::string id{};  ///< "s1", "s2" …
  std::string description{};
  StepStatus status = StepStatus::pending;
  std::optional<std::string> evidence{};
  std::string notes{};
  Unknown unknown{};
  bool operator==(const PlanStep&) const = default;
};

struct Postcondition {
  std::string description{};
  bool is_satisfied = false;
  std::optional<std::string> evidence{};
  Unknown unknown{};
  bool operator==(const Postcondition&) const = default;
};

struct Plan {
  std::string id{};
  std::string objective{};
  Timestamp created_at{};
  std::vector<PlanStep> steps{};
  std::vector<Postcondition> postconditions{};
  Unknown unknown{};
  bool operator==(const Plan&) const = default;

  /// Every step is done, with evidence, or blocked; every postcondition is satisfied, with
  /// evidence. A plan without either is ready.
  [[nodiscard]] bool is_ready_to_finish() const;
};

/// Appends a pending step and returns its id: one above the highest there is.
std::string add_step(Plan& plan, std::string description);
void add_postcondition(Plan& plan, std::string description);

struct StepUpdate {
  StepStatus status = StepStatus::pending;
  std::optional<std::string> evidence{};  ///< Needed for `done`, and kept only there.
  std::optional<std::string> notes{};     ///< Empty: the notes stay.
};

/// The plan is unchanged if this fails.
/// Fails: `not_found` for the step; `invalid_argument` for `done` without evidence.
[[nodiscard]] Result<void> update_step(Plan& plan, std::string_view step, StepUpdate update);

/// Fails: `not_found` for the index; `invalid_argument` without evidence.
[[nodiscard]] Result<void> satisfy(Plan& plan, std::size_t postcondition, std::string evidence);
/// Not satisfied after all. Fails: `not_found`.
[[nodiscard]] Result<void> retract(Plan& plan, std::size_t postcondition);

[[nodiscard]] std::string to_json(const Plan& plan);

/// Fails: `invalid_argument` for text that is no plan; `unsupported` for a newer version.
[[nodiscard]] Result<Plan> plan_from_json(std::string_view text);

}  // namespace perdure
