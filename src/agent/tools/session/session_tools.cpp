// Tools that their session answers: questions to a person, notes, the plan.

#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "perdure/agent/tools.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/log.hpp"
#include "runtime/api/records.hpp"
#include "runtime/api/session.hpp"
#include "runtime/api/state_details.hpp"

namespace perdure {

[[nodiscard]] inline ToolSpec answered_tool(std::string name, std::string description,
                                            std::string_view schema, AnswerFunction answer) {
  return {.tool = {.name = std::move(name),
                   .description = std::move(description),
                   .input_schema = std::string(schema),
                   .answer = answered_by(std::move(answer))}};
}

// A question is a call that needs approval, and the words of the approval are its answer: the
// runtime waits for it, across processes, with nothing of its own here.

namespace {

constexpr std::string_view ask_schema = R"({"type": "object", "additionalProperties": false,
  "required": ["question"], "properties": {"question": {"type": "string", "minLength": 1}}})";

SessionAnswer user_answer(const State& state, Position call, const Json& /*args*/) {
  const auto open = state.details->open_calls.find(call);
  const Approval* word = open == state.details->open_calls.end()
                             ? nullptr
                             : state.details->approvals.find(call, open->second.args_digest);
  if (word == nullptr) {
    return {
        .content = "The question was not asked: this agent is not set up to wait for an answer.",
        .is_error = true};
  }
  const std::string words = word->why.empty() ? "yes" : word->why;
  return {.content = word->who.empty() ? words : fmt::format("{}: {}", word->who, words)};
}

}  // namespace

ToolSpec make_ask_tool() {
  ToolSpec made = answered_tool(
      "ask_user", "Asks the user, and waits for the answer. Only for what nothing else can tell.",
      ask_schema, user_answer);
  made.needs_word = true;
  return made;
}

namespace {

constexpr std::string_view key_schema = R"({"type": "object", "additionalProperties": false,
  "required": ["key"], "properties": {"key": {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,128}$"}}})";
constexpr std::string_view note_schema = R"({"type": "object", "additionalProperties": false,
  "required": ["key", "text"], "properties": {
    "key": {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,128}$"}, "text": {"type": "string"}}})";
constexpr std::string_view no_args_schema =
    R"({"type": "object", "additionalProperties": false, "properties": {}})";

SessionAnswer write_note(const State& /*state*/, Position /*call*/, const Json& args) {
  const std::string text = args.get<std::string>("text").value_or("");
  if (text.size() > scratch_inline_bytes_max) {
    return {.content = fmt::format("A note has at most {} bytes; this one has {}.",
                                   scratch_inline_bytes_max, text.size()),
            .is_error = true};
  }
  const std::string key = args.get<std::string>("key").value_or("");
  if (auto is_key = check_scratch_key(key); !is_key) {
    return {.content = is_key.error().message, .is_error = true};
  }
  return {.content = fmt::format("noted: {} bytes as {}", text.size(), key),
          .changes = {ScratchEntry{.key = key, .value = text}}};
}

SessionAnswer read_note(const State& state, Position /*call*/, const Json& args) {
  const auto found = state.scratchpad.values.find(args.get<std::string>("key").value_or(""));
  if (found == state.scratchpad.values.end()) {
    return {.content = "There is no such note; note_list names those there are.", .is_error = true};
  }
  if (const auto* text = std::get_if<std::string>(&found->second)) return {.content = *text};
  return {.content = fmt::format("[a note of {} bytes, too long to be shown here]",
                                 std::get<BlobRef>(found->second).size)};
}

SessionAnswer list_notes(const State& state, Position /*call*/, const Json& /*args*/) {
  std::string names;
  for (const auto& [key, value] : state.scratchpad.values) names += key + "\n";
  return {.content = names.empty() ? "There are no notes." : names};
}

SessionAnswer delete_note(const State& state, Position /*call*/, const Json& args) {
  const std::string key = args.get<std::string>("key").value_or("");
  if (!state.scratchpad.values.contains(key)) return {.content = "There is no such note."};
  return {.content = "deleted: " + key, .changes = {ScratchEntry{.key = key}}};
}

}  // namespace

std::vector<ToolSpec> make_note_tools() {
  return {
      answered_tool("note_write", "Keeps a note under a key, in the place of one that is there.",
                    note_schema, write_note),
      answered_tool("note_read", "Reads a note.", key_schema, read_note),
      answered_tool("note_list", "Names all notes.", no_args_schema, list_notes),
      answered_tool("note_delete", "Deletes a note.", key_schema, delete_note)};
}

namespace {

constexpr std::string_view create_schema = R"({"type": "object", "additionalProperties": false,
  "required": ["objective", "steps"], "properties": {
    "objective": {"type": "string", "minLength": 1},
    "steps": {"type": "array", "minItems": 1, "maxItems": 100, "items": {"type": "string", "minLength": 1}},
    "postconditions": {"type": "array", "maxItems": 100, "items": {"type": "string", "minLength": 1},
      "description": "What must be true in the end."},
    "reason": {"type": "string", "minLength": 1, "description": "Why the plan that is there is given up before its end."}}})";
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
  if (is_unfinished && args.get<std::string>("reason").value_or("").empty()) {
    return wrong(
        "There is a plan that is not finished. Finish it, or give a reason to replace it:\n" +
        plan_text(*state.plan));
  }
  // Nothing but the state may decide: the time is that of the last message.
  Plan plan{.id = fmt::format("plan-{}", call),
            .objective = args.get<std::string>("objective").value_or("")};
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
  StepUpdate update{.status = step_status_from(args.get<std::string>("status").value_or(""))
                                  .value_or(StepStatus::pending)};
  if (const auto evidence = args.get<std::string>("evidence").value_or(""); !evidence.empty())
    update.evidence = evidence;
  if (args.find("notes") != nullptr) update.notes = args.get<std::string>("notes").value_or("");
  const auto updated =
      update_step(plan, args.get<std::string>("step").value_or(""), std::move(update));
  if (!updated) return wrong(updated.error().message);
  return changed(std::move(plan));
}

SessionAnswer verify_postcondition(const State& state, Position /*call*/, const Json& args) {
  if (!state.plan) return wrong("There is no plan; make one with plan_create.");
  Plan plan = *state.plan;
  const std::int64_t number = args.get<std::int64_t>("number").value_or(0);
  const auto index = number < 1 ? plan.postconditions.size() : static_cast<std::size_t>(number - 1);
  const auto satisfied = satisfy(plan, index, args.get<std::string>("evidence").value_or(""));
  if (!satisfied) return wrong(satisfied.error().message);
  return changed(std::move(plan));
}

}  // namespace

std::vector<ToolSpec> make_plan_tools() {
  return {
      answered_tool("plan_create", "Makes the plan: its steps, and what must be true in the end.",
                    create_schema, create_plan),
      answered_tool("plan_show", "Shows the plan.", no_args_schema, show_plan),
      answered_tool("step_update", "Sets the status of a step of the plan. Done needs evidence.",
                    update_schema, update_plan_step),
      answered_tool("postcondition_verify", "Says that a postcondition holds, with evidence.",
                    verify_schema, verify_postcondition)};
}

}  // namespace perdure
