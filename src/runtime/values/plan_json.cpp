// Plans, to JSON and back.

#include <string>
#include <string_view>

#include "perdure/core/error.hpp"
#include "perdure/core/raw_json.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/plan.hpp"
#include "runtime/api/fields.hpp"

namespace perdure {
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
