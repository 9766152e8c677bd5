// What the runtime keeps of a session beside what a program sees of it: approvals, the request and the
// calls that are open, its origin, its children. And the fold of a log into all of it.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"

namespace perdure {

[[nodiscard]] std::string_view to_string(Permit permit);

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

  /// The latest decision on this call with these arguments; null if there is none.
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

/// Where a session comes from: the scope of its effects, and its agent.
struct Origin {
  /// The scope of `once_per_session`: the id of the oldest session of the tree, or of a fork that
  /// has effects of its own.
  std::string root{};
  /// Minted with the root and inherited by its forks, branches and children, since an id may be
  /// used again. Empty: it cannot be read any more, so nothing can be done once in the tree.
  std::string nonce{};
  std::string agent_digest{};  ///< Of the agent's definition; its writer chooses how.
  Unknown unknown{};
  bool operator==(const Origin&) const = default;
};

/// How a child ended.
struct ChildEnd {
  std::string child{};
  std::int64_t number = 1;  ///< Counts its ends from 1: it may have been reopened.
  Status status = Status::completed;
  std::int64_t spent_micros = 0;        ///< All that its budget had recorded.
  std::int64_t unconfirmed_micros = 0;  ///< The part of it that may or may not have been paid.
  std::string result{};
  Unknown unknown{};
  bool operator==(const ChildEnd&) const = default;
};

/// What a parent knows of a child.
struct Child {
  Position spawned = 0;
  std::optional<std::int64_t> limit_micros{};
  std::optional<ChildEnd> end{};  ///< Empty: it has not ended, as far as its parent knows.
  bool operator==(const Child&) const = default;
};

/// A call whose outcome the transcript does not have: it was not started, or runs, or is in doubt;
/// the ledger knows which. The first part is what its intent says (channel `calls`, kind `intent`).
/// A later intent for the same block replaces an earlier one: a fork makes the call as one of its
/// own.
struct OpenCall {
  Position call = 0;                  ///< Of its intent.
  Position message = 0;               ///< That asks for it; 0: none.
  std::uint64_t block = 0;            ///< Which block of that message, from 0.
  std::optional<std::string> args{};  ///< Only where no message has them: see args_of.
  std::string tool{};
  std::string provider_id{};
  Digest args_digest{};
  std::optional<Digest> operation{};  ///< Of the business key, where that names the operation.
  std::string repeat{};               ///< The tool's repeat rule, as a word.
  std::string scope{};                ///< What the rule made of it.
  std::string nonce{};  ///< Tells the call from one of an earlier session of the same id.
  PermitDecision permission{.permit = Permit::allow};  ///< When it was asked for.
  Unknown unknown{};

  std::int64_t attempts = 0;
  std::int64_t not_landed = 0;  ///< So many of them, the first ones, did nothing: verify said so.
  std::int64_t key_generation = 0;  ///< Of the vendor's key, from the first attempt on.
  std::optional<Timestamp> first_attempt{};
  std::string worker{};                ///< Who made the last attempt.
  std::optional<std::string> doubt{};  ///< Why it is in doubt; empty: nothing says that it is.
  /// When it was recorded that the last attempt has come back, or that its process has ended.
  std::optional<Timestamp> ended_at{};
  bool is_told = false;     ///< The model has been told that its outcome is unknown.
  bool is_retried = false;  ///< A person decided that it be run once more.
  bool operator==(const OpenCall&) const = default;
};

/// A model was asked, and its answer is not there.
struct OpenRequest {
  Position position = 0;
  Request request{};
  bool operator==(const OpenRequest&) const = default;
};

/// Who changed a session's status, and why. A session begins as `active`; the last note of its log
/// has its status. Notes that a fork shares with its parent are about the parent.
struct StatusNote {
  Position position = 0;  ///< Of its entry.
  Status status = Status::active;
  std::string who{};  ///< A person, the id of a worker, `dispatcher`, `store` …
  std::string why{};
  Unknown unknown{};
  bool operator==(const StatusNote&) const = default;
};

/// Why an entry was passed over.
enum class SkipReason : std::uint8_t {
  erased,
  damaged,
  blob,        ///< Its body is a blob: load it before folding.
  other_kind,  ///< A kind that its channel does not have in this version.
  newer,       ///< Written by a newer version.
  unreadable,  ///< Not what its kind says.
  refused,     ///< Readable, and against the rules of what it changes.
};

struct Skipped {
  Position position = 0;
  std::string channel{};
  SkipReason reason = SkipReason::unreadable;
  bool operator==(const Skipped&) const = default;
};

/// The member `details` of a State.
struct StateDetails {
  Approvals approvals{};
  std::optional<Origin> origin{};
  std::map<std::string, Child, std::less<>> children{};  ///< By session id, ended or not.
  std::optional<ChildEnd> end{};                         ///< What its parent learns.
  std::optional<StatusNote> status{};                    ///< The last change of it.
  std::optional<OpenRequest> request{};
  std::map<Position, OpenCall> open_calls{};
  std::vector<Skipped> skipped{};
  bool operator==(const StateDetails&) const = default;
};

/// Takes the next entry of the line in. A `replace` entry of a list empties it first.
void fold(State& state, const Entry& entry);

/// The message at that position; null if there is none.
[[nodiscard]] const Message* find_message(const State& state, Position position);

/// The arguments as the model wrote them; empty if the message that has them cannot be read.
/// Lives as long as the state is not changed.
[[nodiscard]] std::optional<std::string_view> args_of(const State& state, const OpenCall& call);

}  // namespace perdure
