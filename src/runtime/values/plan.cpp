// The rules of a plan. plan_json.cpp writes it down.

#include "perdure/runtime/plan.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "perdure/core/error.hpp"
#include "perdure/core/raw_json.hpp"
#include "perdure/core/time.hpp"
#include "values/fields.hpp"

namespace perdure {
namespace {

bool is_evidence(const std::optional<std::string>& text) {
  return text && text->find_first_not_of(" \t\r\n") != std::string::npos;
}

bool is_closed(const PlanStep& step) {
  if (step.status == StepStatus::blocked) return true;
  return step.status == StepStatus::done && is_evidence(step.evidence);
}

bool holds(const Postcondition& condition) {
  return condition.is_satisfied && is_evidence(condition.evidence);
}

// The n of "s<n>"; 0 for any other id.
std::uint32_t number_of(std::string_view id) {
  std::uint32_t number = 0;
  if (!id.starts_with('s')) return 0;
  const auto [end, error] = std::from_chars(id.data() + 1, id.data() + id.size(), number);
  return error == std::errc{} && end == id.data() + id.size() ? number : 0;
}

Result<Postcondition*> find_condition(Plan& plan, std::size_t index) {
  if (index < plan.postconditions.size()) return &plan.postconditions[index];
  return fail(ErrorCode::not_found, fmt::format("the plan has {} postconditions and no number {}",
                                                plan.postconditions.size(), index));
}

}  // namespace

std::string_view to_string(StepStatus status) {
  switch (status) {
    case StepStatus::pending:
      return "pending";
    case StepStatus::in_progress:
      return "in_progress";
    case StepStatus::done:
      return "done";
    case StepStatus::blocked:
      return "blocked";
  }
  return "";
}

std::optional<StepStatus> step_status_from(std::string_view text) {
  for (const StepStatus status :
       {StepStatus::pending, StepStatus::in_progress, StepStatus::done, StepStatus::blocked}) {
    if (to_string(status) == text) return status;
  }
  return std::nullopt;
}

bool Plan::is_ready_to_finish() const {
  return std::ranges::all_of(steps, is_closed) && std::ranges::all_of(postconditions, holds);
}

std::string add_step(Plan& plan, std::string description) {
  std::uint64_t last = 0;
  for (const PlanStep& step : plan.steps) last = std::max<std::uint64_t>(last, number_of(step.id));
  PlanStep& step = plan.steps.emplace_back();
  step.id = fmt::format("s{}", last + 1);
  step.description = std::move(description);
  return step.id;
}

void add_postcondition(Plan& plan, std::string description) {
  plan.postconditions.emplace_back().description = std::move(description);
}

Result<void> update_step(Plan& plan, std::string_view step, StepUpdate update) {
  const auto found = std::ranges::find(plan.steps, step, &PlanStep::id);
  if (found == plan.steps.end()) {
    return fail(ErrorCode::not_found, fmt::format("the plan has no step \"{}\"", step),
                std::string(step));
  }
  const bool is_done = update.status == StepStatus::done;
  if (is_done && !is_evidence(update.evidence)) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("step {} is done only with evidence: say what shows it", step),
                std::string(step));
  }
  found->status = update.status;
  // Evidence of an earlier `done` must not speak for a later one.
  found->evidence = is_done ? std::move(update.evidence) : std::nullopt;
  if (update.notes) found->notes = *std::move(update.notes);
  return {};
}

Result<void> satisfy(Plan& plan, std::size_t postcondition, std::string evidence) {
  auto condition = find_condition(plan, postcondition);
  if (!condition) return forward(condition);
  if (!is_evidence(evidence)) {
    return fail(ErrorCode::invalid_argument,
                "a postcondition is satisfied only with evidence: say what shows it");
  }
  (*condition)->is_satisfied = true;
  (*condition)->evidence = std::move(evidence);
  return {};
}

Result<void> retract(Plan& plan, std::size_t postcondition) {
  auto condition = find_condition(plan, postcondition);
  if (!condition) return forward(condition);
  (*condition)->is_satisfied = false;
  (*condition)->evidence.reset();
  return {};
}

namespace {

using values::Fields;

std::string step_to_json(const PlanStep& step) {
  ObjectWriter writer;
  values::add_bytes(writer, "id", step.id);
  values::add_bytes(writer, "description", step.description);
  writer.add("status", to_string(step.status));
  values::add_bytes(writer, "evidence", step.evidence);
  values::add_bytes(writer, "notes", step.notes);
  values::add_unknown(writer, step.unknown);
  return writer.finish();
}

Result<PlanStep> step_from_json(std::string_view text) {
  return values::read_value<PlanStep>(text, "step of a plan", [](Fields& fields, PlanStep& step) {
    fields.require("id");
    fields.take_bytes("id", step.id);
    fields.take_bytes("description", step.description);
    fields.require("status");
    fields.take_word("status", step.status, step_status_from);
    fields.take_bytes("evidence", step.evidence);
    fields.take_bytes("notes", step.notes);
  });
}

std::string condition_to_json(const Postcondition& condition) {
  ObjectWriter writer;
  values::add_bytes(writer, "description", condition.description);
  writer.add("satisfied", condition.is_satisfied);
  values::add_bytes(writer, "evidence", condition.evidence);
  values::add_unknown(writer, condition.unknown);
  return writer.finish();
}

Result<Postcondition> condition_from_json(std::string_view text) {
  return values::read_value<Postcondition>(
      text, "postcondition", [](Fields& fields, Postcondition& condition) {
        fields.require("description");
        fields.take_bytes("description", condition.description);
        fields.take("satisfied", condition.is_satisfied);
        fields.take_bytes("evidence", condition.evidence);
      });
}

}  // namespace

std::string to_json(const Plan& plan) {
  ObjectWriter writer;
  values::add_bytes(writer, "id", plan.id);
  values::add_bytes(writer, "objective", plan.objective);
  writer.add("created_at", to_iso8601(plan.created_at));
  writer.add_raw("steps", values::array_of(plan.steps, step_to_json));
  writer.add_raw("postconditions", values::array_of(plan.postconditions, condition_to_json));
  values::add_unknown(writer, plan.unknown);
  return writer.finish();
}

Result<Plan> plan_from_json(std::string_view text) {
  return values::read_value<Plan>(text, "plan", [](Fields& fields, Plan& plan) {
    fields.take_bytes("id", plan.id);
    fields.require("objective");
    fields.take_bytes("objective", plan.objective);
    fields.take("created_at", plan.created_at);
    fields.take_each("steps", [&](std::string_view element) {
      return values::keep(step_from_json(element), plan.steps);
    });
    fields.take_each("postconditions", [&](std::string_view element) {
      return values::keep(condition_from_json(element), plan.postconditions);
    });
  });
}

}  // namespace perdure
