// Records of the log: messages and plans, approvals, calls and the marks of their results. Their fields
// in JSON, the rules of a plan, and what may follow what was decided of a call.

#include "runtime/api/records.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/api/json_text.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "runtime/api/fields.hpp"
#include "runtime/api/state_details.hpp"
#include "store/api/lookup.hpp"

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

namespace {

constexpr std::array permits = {
    std::pair{Permit::allow, std::string_view("allow")},
    std::pair{Permit::ask, std::string_view("ask")},
    std::pair{Permit::deny, std::string_view("deny")},
};

// What is allowed is not written: older versions wrote neither member.
void take_permission(auto& archive, auto& permission) {
  std::string permit;
  if (permission.permit != Permit::allow) permit = to_string(permission.permit);
  archive.sparse("permit", permit);
  if constexpr (std::remove_cvref_t<decltype(archive)>::reads) {
    // An unknown word of a newer version is not a permission.
    if (!permit.empty())
      permission.permit = values::value_of(permits, permit).value_or(Permit::ask);
  }
  if (archive.reads || !permit.empty()) archive("permit_why", permission.why);
}

}  // namespace

constexpr std::string_view shape_name(const Approval& /*as*/) { return "approval"; }
void fields(auto& archive, values::Like<Approval> auto& approval) {
  archive.require("call", "args_digest");
  archive("call", approval.call);
  archive("args_digest", approval.args_digest);
  archive("who", approval.who);
  archive("why", approval.why);
  archive("at", approval.at);
}

constexpr std::string_view shape_name(const OpenCall& /*as*/) { return "intent"; }
void fields(auto& archive, values::Like<OpenCall> auto& intent) {
  archive.require("tool");
  archive("message", intent.message);
  archive("block", intent.block);
  archive.json("args", intent.args);
  archive("tool", intent.tool);
  archive("provider_id", intent.provider_id);
  archive("args_digest", intent.args_digest);
  archive("operation", intent.operation);
  archive("repeat", intent.repeat);
  archive("scope", intent.scope);
  archive("nonce", intent.nonce);
  take_permission(archive, intent.permission);
}

constexpr std::string_view shape_name(const Attempted& /*as*/) { return "attempt"; }
void fields(auto& archive, values::Like<Attempted> auto& attempt) {
  archive.require("call");
  archive("call", attempt.call);
  archive("number", attempt.number);
  archive("worker", attempt.worker);
  archive.sparse("key_generation", attempt.key_generation);
  archive.sparse("none_landed", attempt.none_landed);
}

constexpr std::string_view shape_name(const Doubt& /*as*/) { return "doubt"; }
void fields(auto& archive, values::Like<Doubt> auto& doubt) {
  archive.require("call");
  archive("call", doubt.call);
  archive("why", doubt.why);
  archive.sparse("has_ended", doubt.has_ended);
}

constexpr std::string_view shape_name(const Evidence& /*as*/) { return "piece of evidence"; }
void fields(auto& archive, values::Like<Evidence> auto& evidence) {
  archive.require("call");
  archive("call", evidence.call);
  archive("text", evidence.text);
}

constexpr std::string_view shape_name(const Resolution& /*as*/) { return "resolution"; }
void fields(auto& archive, values::Like<Resolution> auto& resolution) {
  archive.require("call", "decision");
  archive("call", resolution.call);
  archive("decision", resolution.decision);
  archive("who", resolution.who);
  archive("why", resolution.why);
}

constexpr std::string_view shape_name(const Request& /*as*/) { return "request"; }
void fields(auto& archive, values::Like<Request> auto& request) {
  archive("reservation", request.reservation);
  archive("model", request.model);
  archive.sparse("is_ahead", request.is_ahead);
  // Only one of the two is written; whatever is there is read.
  if (archive.reads || request.is_ahead) archive("loss_token", request.loss_token);
  if (archive.reads || !request.is_ahead) archive("digest", request.digest);
}

namespace {

constexpr std::string_view call_key = "call";
constexpr std::string_view outcome_key = "outcome";

constexpr std::array approval_decisions = {
    std::pair{ApprovalDecision::asked, std::string_view("asked")},
    std::pair{ApprovalDecision::given, std::string_view("given")},
    std::pair{ApprovalDecision::refused, std::string_view("refused")},
    std::pair{ApprovalDecision::used, std::string_view("used")},
};

bool may_follow(const Approval* before, ApprovalDecision next) {
  if (before == nullptr) return next != ApprovalDecision::used;
  switch (before->decision) {
    case ApprovalDecision::asked:
      return next == ApprovalDecision::given || next == ApprovalDecision::refused;
    case ApprovalDecision::given:
      return next != ApprovalDecision::asked;
    case ApprovalDecision::refused:
      return next == ApprovalDecision::given || next == ApprovalDecision::refused;
    case ApprovalDecision::used:
      return false;
  }
  return false;
}

const RawJson* find_mark(const ToolResultBlock& result, std::string_view key) {
  const RawJson* found = nullptr;
  for (const auto& [name, json] : result.unknown) {
    if (name == key) found = &json;
  }
  return found;
}

}  // namespace

std::string_view to_string(Permit permit) { return values::word_of(permits, permit); }

PermitDecision stricter(PermitDecision a, PermitDecision b) {
  return a.permit >= b.permit ? std::move(a) : std::move(b);
}

std::string_view to_string(ApprovalDecision decision) {
  return values::word_of(approval_decisions, decision);
}
std::optional<ApprovalDecision> approval_decision_from(std::string_view text) {
  return values::value_of(approval_decisions, text);
}

std::string to_json(const Approval& approval) { return values::write(approval); }

Result<Approval> approval_from_json(std::string_view kind, std::string_view text) {
  const auto decision = approval_decision_from(kind);
  if (!decision) {
    return fail(ErrorCode::invalid_argument, fmt::format("\"{}\" decides no approval", kind));
  }
  return values::read(text, Approval{.decision = *decision});
}

Result<void> Approvals::apply(Approval approval) {
  const Approval* const before = find(approval.call, approval.args_digest);
  if (!may_follow(before, approval.decision)) {
    return fail(ErrorCode::conflict,
                fmt::format("an approval cannot be {}: that of call {} with these arguments {}",
                            to_string(approval.decision), approval.call,
                            before == nullptr ? "was never given"
                                              : fmt::format("is {}", to_string(before->decision))),
                std::to_string(approval.call));
  }
  const std::pair key(approval.call, approval.args_digest);
  latest_.insert_or_assign(key, std::move(approval));
  return {};
}

void Approvals::forget_given() {
  std::erase_if(latest_, [](const auto& decided) {
    return decided.second.decision == ApprovalDecision::given ||
           decided.second.decision == ApprovalDecision::used;
  });
}

const Approval* Approvals::find(Position call, const Digest& args_digest) const {
  const auto found = latest_.find(std::pair(call, args_digest));
  return found == latest_.end() ? nullptr : &found->second;
}

bool Approvals::covers(Position call, const Digest& args_digest) const {
  const Approval* const approval = find(call, args_digest);
  return approval != nullptr && (approval->decision == ApprovalDecision::given ||
                                 approval->decision == ApprovalDecision::used);
}

std::string to_json(const OpenCall& intent) { return values::write(intent); }
std::string to_json(const Attempted& attempt) { return values::write(attempt); }
std::string to_json(const Doubt& doubt) { return values::write(doubt); }
std::string to_json(const Evidence& evidence) { return values::write(evidence); }
std::string to_json(const Resolution& resolution) { return values::write(resolution); }
std::string to_json(const Request& request) { return values::write(request); }

Result<OpenCall> intent_from_json(std::string_view text) { return values::read<OpenCall>(text); }
Result<Attempted> attempt_from_json(std::string_view text) { return values::read<Attempted>(text); }
Result<Doubt> doubt_from_json(std::string_view text) { return values::read<Doubt>(text); }
Result<Evidence> evidence_from_json(std::string_view text) { return values::read<Evidence>(text); }
Result<Resolution> resolution_from_json(std::string_view text) {
  return values::read<Resolution>(text);
}
Result<Request> request_from_json(std::string_view text) { return values::read<Request>(text); }

bool Outcome::is_final() const {
  return state && *state != CallState::intended && *state != CallState::dispatched &&
         *state != CallState::in_doubt;
}

void set_outcome(ToolResultBlock& result, const Outcome& outcome) {
  std::erase_if(result.unknown, [](const auto& member) {
    return member.first == call_key || member.first == outcome_key;
  });
  result.unknown.emplace_back(call_key, RawJson::from_value(outcome.call));
  if (!outcome.state) return;
  result.unknown.emplace_back(outcome_key, RawJson::from_value(to_string(*outcome.state)));
}

std::optional<Outcome> outcome_of(const ToolResultBlock& result) {
  const RawJson* const call = find_mark(result, call_key);
  if (call == nullptr) return std::nullopt;
  const auto position = call->value().as_uint64();
  if (!position) return std::nullopt;
  Outcome outcome{.call = *position};
  if (const RawJson* const word = find_mark(result, outcome_key)) {
    const Json value = word->value();
    if (const std::string* text = value.as_string()) outcome.state = call_state_from(*text);
  }
  return outcome;
}

}  // namespace perdure
