// The rules of a plan are the runtime's (plan.hpp); here they are put to a model.

#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "perdure/agent/session_tools.hpp"
#include "perdure/agent/toolbox.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/plan.hpp"
#include "perdure/runtime/session_answer.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/log.hpp"
#include "tools/args.hpp"
#include "tools/session/answered_tool.hpp"

namespace perdure {
namespace {

constexpr std::string_view create_schema = R"({"type": "object", "additionalProperties": false,
  "required": ["objective", "steps"], "properties": {
    "objective": {"type": "string", "minLength": 1},
    "steps": {"type": "array", "minItems": 1, "maxItems": 100, "items": {"type": "string", "minLength": 1}},
    "postconditions": {"type": "array", "maxItems": 100, "items": {"type": "string", "minLength": 1},
      "description": "What must be true in the end."},
    "reason": {"type": "string", "minLength": 1, "description": "Why the plan that is there is given up before its end."}}})";
constexpr std::string_view show_schema =
    R"({"type": "object", "additionalProperties": false, "properties": {}})";
constexpr std::string_view update_schema = R"({"type": "object", "additionalProperties": false,
  "required": ["step", "status"], "properties": {
    "step": {"type": "string", "description": "s1, s2 …"},
    "status": {"enum": ["pending", "in_progress", "done", "blocked"]},
    "evidence": {"type": "string", "description": "Needed for done: what shows it, such as the output of a test."},
    "notes": {"type": "string"}}})";
constexpr std::string_view verify_schema = R"({"type": "object", "additionalProperties": false,
  "required": ["number", "evidence"], "properties": {
    "number": {"type": "integer", "minimum": 1, "description": "Of the postcondition; 1 is the first."},
    "evidence": {"type": "string", "minLength": 1, "description": "What shows it."}}})";

std::string plan_text(const Plan& plan) {
  std::string text = "objective: " + plan.objective + "\n";
  for (const PlanStep& step : plan.steps) {
    text += fmt::format("{} [{}] {}", step.id, to_string(step.status), step.description);
    if (step.evidence) text += " (evidence: " + *step.evidence + ")";
    if (!step.notes.empty()) text += " (notes: " + step.notes + ")";
    text += "\n";
  }
  for (std::size_t i = 0; i < plan.postconditions.size(); ++i) {
    const Postcondition& condition = plan.postconditions[i];
    text += fmt::format("postcondition {} [{}] {}\n", i + 1,
                        condition.is_satisfied ? "satisfied" : "open", condition.description);
  }
  return text + (plan.is_ready_to_finish() ? "finished" : "not finished");
}

SessionAnswer wrong(std::string why) { return {.content = std::move(why), .is_error = true}; }

SessionAnswer changed(Plan plan) {
  SessionAnswer answer{.content = plan_text(plan)};
  answer.changes.emplace_back(std::move(plan));
  return answer;
}

void add_all(const Json* list, const auto& add) {
  const auto* array = list == nullptr ? nullptr : list->as_array();
  if (array == nullptr) return;
  for (const Json& each : *array) {
    if (const auto* text = each.as_string()) add(*text);
  }
}

SessionAnswer create_plan(const State& state, Position call, const Json& args) {
  const bool is_unfinished = state.plan && !state.plan->is_ready_to_finish();
  if (is_unfinished && text_arg(args, "reason").empty()) {
    return wrong(
        "There is a plan that is not finished. Finish it, or give a reason to replace it:\n" +
        plan_text(*state.plan));
  }
  // Nothing but the state may decide: the time is that of the last message.
  Plan plan{.id = fmt::format("plan-{}", call), .objective = text_arg(args, "objective")};
  if (!state.transcript.empty()) plan.created_at = state.transcript.back().message.created_at;
  add_all(args.find("steps"), [&](const std::string& text) { add_step(plan, text); });
  add_all(args.find("postconditions"),
          [&](const std::string& text) { add_postcondition(plan, text); });
  return changed(std::move(plan));
}

SessionAnswer show_plan(const State& state, Position /*call*/, const Json& /*args*/) {
  return {.content = state.plan ? plan_text(*state.plan) : "There is no plan."};
}

SessionAnswer update_plan_step(const State& state, Position /*call*/, const Json& args) {
  if (!state.plan) return wrong("There is no plan; make one with plan_create.");
  Plan plan = *state.plan;
  StepUpdate update{.status =
                        step_status_from(text_arg(args, "status")).value_or(StepStatus::pending)};
  if (const auto evidence = text_arg(args, "evidence"); !evidence.empty())
    update.evidence = evidence;
  if (args.find("notes") != nullptr) update.notes = text_arg(args, "notes");
  const auto updated = update_step(plan, text_arg(args, "step"), std::move(update));
  if (!updated) return wrong(updated.error().message);
  return changed(std::move(plan));
}

SessionAnswer verify_postcondition(const State& state, Position /*call*/, const Json& args) {
  if (!state.plan) return wrong("There is no plan; make one with plan_create.");
  Plan plan = *state.plan;
  const std::int64_t number = number_arg(args, "number", 0);
  const auto index = number < 1 ? plan.postconditions.size() : static_cast<std::size_t>(number - 1);
  const auto satisfied = satisfy(plan, index, text_arg(args, "evidence"));
  if (!satisfied) return wrong(satisfied.error().message);
  return changed(std::move(plan));
}

}  // namespace

std::vector<ToolSpec> make_plan_tools() {
  return {
      answered_tool("plan_create", "Makes the plan: its steps, and what must be true in the end.",
                    create_schema, create_plan),
      answered_tool("plan_show", "Shows the plan.", show_schema, show_plan),
      answered_tool("step_update", "Says how a step of the plan stands. Done needs evidence.",
                    update_schema, update_plan_step),
      answered_tool("postcondition_verify", "Says that a postcondition holds, with evidence.",
                    verify_schema, verify_postcondition)};
}

}  // namespace perdure
