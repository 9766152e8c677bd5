// Who allowed a call, and which one.
//
// An approval is bound to the call (the position of its intent) and to the digest of its
// arguments: allowed is this call with these arguments, and nothing else. It is used once,
// at the call's first dispatch, and covers later attempts of the same call.
//
//   asked ──► given ──► used
//     └─────► refused        until it is used, a decision may be taken back
//
// Whoever approves ahead need not have been asked.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "perdure/core/error.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/message.hpp"
#include "perdure/store/log.hpp"

namespace perdure {

enum class ApprovalDecision : std::uint8_t { asked, given, refused, used };

[[nodiscard]] std::string_view to_string(ApprovalDecision decision);
[[nodiscard]] std::optional<ApprovalDecision> approval_decision_from(std::string_view text);

struct Approval {
  Position call = 0;
  Digest args_digest{};
  ApprovalDecision decision = ApprovalDecision::asked;
  std::string who{};
  std::string why{};
  Timestamp at{};
  Unknown unknown{};
  bool operator==(const Approval&) const = default;
};

/// The kind of an entry after which nothing that was decided before counts. It has no body.
inline constexpr std::string_view voided_kind = "voided";

/// The decision is the kind of the log's entry, and not in the JSON.
[[nodiscard]] std::string to_json(const Approval& approval);

/// Fails: `invalid_argument` for another kind, or text that is no approval; `unsupported`
/// for a newer version.
[[nodiscard]] Result<Approval> approval_from_json(std::string_view kind, std::string_view text);

/// What was decided of every call. A value.
class Approvals {
 public:
  /// Unchanged if this fails.
  /// Fails: `conflict` for what no arrow above allows: to use what was not given, to use or
  /// to decide again what was used, to ask again what is decided.
  [[nodiscard]] Result<void> apply(Approval approval);

  /// What was allowed is no longer allowed. What was asked or refused stays.
  void forget_given();

  /// The latest word on this call with these arguments; null if there is none.
  [[nodiscard]] const Approval* find(Position call, const Digest& args_digest) const;
  /// Whether an attempt of this call with these arguments is allowed.
  [[nodiscard]] bool covers(Position call, const Digest& args_digest) const;

  [[nodiscard]] bool empty() const { return latest_.empty(); }
  bool operator==(const Approvals&) const = default;

 private:
  std::map<std::pair<Position, Digest>, Approval> latest_;
};

}  // namespace perdure
