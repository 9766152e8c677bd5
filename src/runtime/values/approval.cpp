// Approvals: what may follow what, and their JSON.

#include "perdure/runtime/approval.hpp"

#include <fmt/format.h>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "perdure/core/error.hpp"
#include "perdure/core/raw_json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/log.hpp"
#include "values/fields.hpp"

namespace perdure {
namespace {

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

}  // namespace

std::string_view to_string(ApprovalDecision decision) {
  switch (decision) {
    case ApprovalDecision::asked:
      return "asked";
    case ApprovalDecision::given:
      return "given";
    case ApprovalDecision::refused:
      return "refused";
    case ApprovalDecision::used:
      return "used";
  }
  return "";
}

std::optional<ApprovalDecision> approval_decision_from(std::string_view text) {
  for (const ApprovalDecision decision : {ApprovalDecision::asked, ApprovalDecision::given,
                                          ApprovalDecision::refused, ApprovalDecision::used}) {
    if (to_string(decision) == text) return decision;
  }
  return std::nullopt;
}

std::string to_json(const Approval& approval) {
  ObjectWriter writer;
  writer.add("call", approval.call);
  writer.add("args_digest", to_hex(approval.args_digest));
  values::add_bytes(writer, "who", approval.who);
  values::add_bytes(writer, "why", approval.why);
  writer.add("at", to_iso8601(approval.at));
  values::add_unknown(writer, approval.unknown);
  return writer.finish();
}

Result<Approval> approval_from_json(std::string_view kind, std::string_view text) {
  const auto decision = approval_decision_from(kind);
  if (!decision) {
    return fail(ErrorCode::invalid_argument, fmt::format("\"{}\" decides no approval", kind));
  }
  return values::read_value<Approval>(text, "approval",
                                      [&](values::Fields& fields, Approval& approval) {
                                        approval.decision = *decision;
                                        fields.require("call");
                                        fields.take("call", approval.call);
                                        fields.require("args_digest");
                                        fields.take("args_digest", approval.args_digest);
                                        fields.take_bytes("who", approval.who);
                                        fields.take_bytes("why", approval.why);
                                        fields.take("at", approval.at);
                                      });
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

}  // namespace perdure
