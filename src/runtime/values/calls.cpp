// Approvals, records of calls and marks of results: their fields in JSON, and what may follow what.

#include "perdure/runtime/calls.hpp"

#include <array>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/runtime/conversation.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "runtime/api/fields.hpp"
#include "runtime/api/records.hpp"
#include "runtime/api/state_details.hpp"
#include "store/api/lookup.hpp"

namespace perdure {
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
