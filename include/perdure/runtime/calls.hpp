// The calls of a session: who allowed one, what the log has of it, what it waits for, and what code
// that a session calls may use. The ledger (store/ledger.hpp) has the state of a call.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/conversation.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"

namespace perdure {

/// From lax to strict.
enum class Permit : std::uint8_t { allow, ask, deny };

[[nodiscard]] std::string_view to_string(Permit permit);

/// Whether a call may be made, and why not, or why a person is asked.
struct PermitDecision {
  Permit permit = Permit::deny;
  std::string why{};  ///< Empty for `allow`; of `deny`: what the model is told.
  bool operator==(const PermitDecision&) const = default;

  [[nodiscard]] static PermitDecision allow() { return {.permit = Permit::allow}; }
  [[nodiscard]] static PermitDecision ask(std::string why) {
    return {.permit = Permit::ask, .why = std::move(why)};
  }
  [[nodiscard]] static PermitDecision deny(std::string why) {
    return {.permit = Permit::deny, .why = std::move(why)};
  }
};

/// The stricter of the two; of equal ones the first.
[[nodiscard]] PermitDecision stricter(PermitDecision a, PermitDecision b);

/// What was decided of a call: see Approval.
enum class ApprovalDecision : std::uint8_t { asked, given, refused, used };

[[nodiscard]] std::string_view to_string(ApprovalDecision decision);

/// A decision about one call, by the position of its intent and the digest of its arguments. It is
/// used once, at the call's first dispatch, and covers later attempts of the same call.
///
///     asked ──► given ──► used
///       └─────► refused        until it is used, a decision may be taken back
///
/// A call may be approved before it was asked about.
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

/// What was decided of every call. A value.
class Approvals {
 public:
  /// Unchanged if this fails.
  /// Fails: `conflict` for what no arrow of Approval allows: to use what was not given, to use or
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

/// Channel `requests`, kind `request`: a model is about to be asked. Kind `lost`: no response came,
/// and it may have been paid for. Kind `withdrawn`: it was not made, or cost nothing.
struct Request {
  std::string reservation{};  ///< Its id in the budget; empty if nothing was reserved.
  std::string model{};
  Digest digest{};  ///< Of what is sent; without meaning for one that is written ahead.
  /// Written before its content is known; written once more before it is sent.
  bool is_ahead = false;
  std::string loss_token{};  ///< Of one that is written ahead: the store's token then (upkeep.hpp).
  Unknown unknown{};
  bool operator==(const Request&) const = default;
};

/// Why the session cannot continue by itself.
struct Waiting {
  enum class For : std::uint8_t {
    approval,  ///< A person has to allow the call before it is made.
    decision,  ///< It is in doubt: a person has to resolve it.
    time,      ///< It is asked again at `until`.
  };
  Position call = 0;
  std::string tool{};
  For what = For::decision;
  std::string why{};
  std::optional<Timestamp> until{};
  bool operator==(const Waiting&) const = default;
};

/// What the dispatcher did about the calls of a session, as far as it could.
struct CallsReport {
  std::uint64_t run = 0;       ///< Attempts made, first and later ones.
  std::uint64_t retried = 0;   ///< Of these, attempts after the first of their call.
  std::uint64_t verified = 0;  ///< Asked whether they took effect.
  std::uint64_t replayed = 0;  ///< Answered by what another call had done already.
  std::uint64_t refused = 0;   ///< Not made: no such tool, bad arguments, blocked, not approved.
  std::uint64_t in_doubt = 0;  ///< Became in doubt, or still are.
  /// Empty: every call is answered and the model may be asked.
  std::optional<Waiting> waiting{};
  bool operator==(const CallsReport&) const = default;
};

inline constexpr std::size_t progress_line_bytes_max = 500;
inline constexpr std::size_t progress_lines_max = 2000;

/// How far a call is, reported while it runs, a line at a time. It is not recorded, and the model
/// does not see it. Of one call at most `progress_lines_max` lines are passed on, each cut to
/// `progress_line_bytes_max`. A secret is found in a line, not across two. Any thread of the tool
/// may use it; lines after the tool has returned are dropped.
class ToolProgress {
 public:
  using Tell = std::function<void(std::string_view line)>;

  /// Without an observer.
  ToolProgress() = default;
  explicit ToolProgress(Tell tell) : tell_(std::move(tell)) {}

  /// Does nothing without an observer.
  void operator()(std::string_view line) const {
    if (tell_) tell_(line);
  }
  [[nodiscard]] bool is_watched() const { return static_cast<bool>(tell_); }

 private:
  Tell tell_;
};

/// While it lives, this thread runs code that a session calls (a tool, its verify, a policy, a
/// provider, an observer) and that the given lease holds. That code would wait for itself if it
/// opened the same session, so Runtime::open refuses at once. The runtime and the agent loop have
/// one wherever they call code of the user; a program that starts a thread there passes `current`
/// on to it.
class OnBehalf {
 public:
  explicit OnBehalf(Lease lease);
  ~OnBehalf();
  OnBehalf(const OnBehalf&) = delete;
  OnBehalf& operator=(const OnBehalf&) = delete;

  /// Whether this thread runs code of the session while that worker holds it.
  [[nodiscard]] static bool is_of(const SessionId& session, std::string_view worker);
  /// The innermost on this thread.
  [[nodiscard]] static std::optional<Lease> current();

 private:
  const Lease lease_;
  const OnBehalf* const outer_;
};

}  // namespace perdure
