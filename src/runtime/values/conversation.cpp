// Messages and plans: their fields in JSON, and the rules of a plan.

#include "perdure/runtime/conversation.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>

#include "core/api/json_text.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "runtime/api/fields.hpp"
#include "runtime/api/records.hpp"

namespace perdure {
namespace {

constexpr std::array roles = {
    std::pair{Role::user, std::string_view("user")},
    std::pair{Role::assistant, std::string_view("assistant")},
    std::pair{Role::system, std::string_view("system")},
};

std::optional<Role> role_from(std::string_view text) { return values::value_of(roles, text); }

}  // namespace

constexpr std::string_view shape_name(const TextBlock& /*as*/) { return "block"; }
constexpr std::string_view block_kind(const TextBlock& /*as*/) { return "text"; }
void fields(auto& archive, values::Like<TextBlock> auto& block) {
  archive.require("text");
  archive("text", block.text);
}

constexpr std::string_view shape_name(const ReasoningBlock& /*as*/) { return "block"; }
constexpr std::string_view block_kind(const ReasoningBlock& /*as*/) { return "reasoning"; }
void fields(auto& archive, values::Like<ReasoningBlock> auto& block) {
  archive.require("text");
  archive("text", block.text);
  archive("metadata", block.metadata);
}

constexpr std::string_view shape_name(const ToolCallBlock& /*as*/) { return "block"; }
constexpr std::string_view block_kind(const ToolCallBlock& /*as*/) { return "tool_call"; }
void fields(auto& archive, values::Like<ToolCallBlock> auto& block) {
  archive.require("id", "name");
  archive.require_json("args");
  archive("id", block.id);
  archive("name", block.name);
  archive.json("args", block.args);
}

constexpr std::string_view shape_name(const ToolResultBlock& /*as*/) { return "block"; }
constexpr std::string_view block_kind(const ToolResultBlock& /*as*/) { return "tool_result"; }
void fields(auto& archive, values::Like<ToolResultBlock> auto& block) {
  archive.require("call_id", "content");
  archive("call_id", block.call_id);
  archive("content", block.content);
  archive("is_error", block.is_error);
}

constexpr std::string_view shape_name(const Block& /*as*/) { return "block"; }

std::string write_whole(const Block& block) {
  return std::visit(
      []<class Known>(const Known& known) {
        if constexpr (std::is_same_v<Known, OtherBlock>) {
          return known.json.text();
        } else {
          values::Writer writer;
          writer.text("kind", block_kind(known));
          return values::write_rest(writer, known);
        }
      },
      block);
}

Result<void> read_whole(values::Reader& reader, Block& block) {
  std::string kind;
  reader.require("kind");
  reader.text("kind", kind);
  if (kind == block_kind(TextBlock())) return values::read_rest(reader, block.emplace<TextBlock>());
  if (kind == block_kind(ReasoningBlock())) {
    return values::read_rest(reader, block.emplace<ReasoningBlock>());
  }
  if (kind == block_kind(ToolCallBlock())) {
    return values::read_rest(reader, block.emplace<ToolCallBlock>());
  }
  if (kind == block_kind(ToolResultBlock())) {
    return values::read_rest(reader, block.emplace<ToolResultBlock>());
  }
  if (auto unknown = reader.finish(); !unknown) return forward(unknown);
  block = OtherBlock{RawJson::from_text(std::string(reader.whole())).value()};
  return {};
}

constexpr std::string_view shape_name(const Message& /*as*/) { return "message"; }
void fields(auto& archive, values::Like<Message> auto& message) {
  archive.require("role", "blocks");
  archive.text("id", message.id);
  archive.word("role", message.role, role_from);
  archive("created_at", message.created_at);
  archive("blocks", message.blocks);
  archive.sparse("partial", message.is_partial);
}

constexpr std::string_view shape_name(const PlanStep& /*as*/) { return "step of a plan"; }
void fields(auto& archive, values::Like<PlanStep> auto& step) {
  archive.require("id", "status");
  archive("id", step.id);
  archive("description", step.description);
  archive.word("status", step.status, step_status_from);
  archive("evidence", step.evidence);
  archive("notes", step.notes);
}

constexpr std::string_view shape_name(const Postcondition& /*as*/) { return "postcondition"; }
void fields(auto& archive, values::Like<Postcondition> auto& condition) {
  archive.require("description");
  archive("description", condition.description);
  archive("satisfied", condition.is_satisfied);
  archive("evidence", condition.evidence);
}

constexpr std::string_view shape_name(const Plan& /*as*/) { return "plan"; }
void fields(auto& archive, values::Like<Plan> auto& plan) {
  archive.require("objective");
  archive("id", plan.id);
  archive("objective", plan.objective);
  archive("created_at", plan.created_at);
  archive("steps", plan.steps);
  archive("postconditions", plan.postconditions);
}

namespace {

constexpr std::array step_statuses = {
    std::pair{StepStatus::pending, std::string_view("pending")},
    std::pair{StepStatus::in_progress, std::string_view("in_progress")},
    std::pair{StepStatus::done, std::string_view("done")},
    std::pair{StepStatus::blocked, std::string_view("blocked")},
};

Message says(Role role, std::string text) {
  Message message;
  message.role = role;
  message.blocks.emplace_back(TextBlock{.text = std::move(text)});
  return message;
}

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

}  // namespace

std::string_view to_string(Role role) { return values::word_of(roles, role); }

Message user_says(std::string text) { return says(Role::user, std::move(text)); }
Message assistant_says(std::string text) { return says(Role::assistant, std::move(text)); }

Result<Json> parse_args(std::string_view args) {
  if (args.find_first_not_of(" \t\r\n") == std::string_view::npos) return Json(Json::Object{});
  return parse_foreign_json(args);
}

std::string text_of(const Message& message) {
  std::string text;
  for (const Block& block : message.blocks) {
    if (const auto* part = std::get_if<TextBlock>(&block)) text += part->text;
  }
  return text;
}

std::string to_json(const Message& message) { return values::write(message); }
Result<Message> message_from_json(std::string_view text) { return values::read<Message>(text); }

std::string to_json(const Plan& plan) { return values::write(plan); }
Result<Plan> plan_from_json(std::string_view text) { return values::read<Plan>(text); }

std::string_view to_string(StepStatus status) { return values::word_of(step_statuses, status); }
std::optional<StepStatus> step_status_from(std::string_view text) {
  return values::value_of(step_statuses, text);
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
  if (postcondition >= plan.postconditions.size()) {
    return fail(ErrorCode::not_found, fmt::format("the plan has {} postconditions and no number {}",
                                                  plan.postconditions.size(), postcondition));
  }
  if (!is_evidence(evidence)) {
    return fail(ErrorCode::invalid_argument,
                "a postcondition is satisfied only with evidence: say what shows it");
  }
  plan.postconditions[postcondition].is_satisfied = true;
  plan.postconditions[postcondition].evidence = std::move(evidence);
  return {};
}

}  // namespace perdure
