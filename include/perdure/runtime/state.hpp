// What a session is, folded from its log.
//
// The same fold runs live, over what was just committed, and at resume, over all of it. It never
// fails: an entry that is erased, damaged, of an unknown kind or not what its kind says is passed
// over, and noted in `skipped`. What it would have replaced stays in force.
//
// Channels this version knows are folded into the members of State; those of any other name are the
// user's, and kept as they are.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/calls.hpp"
#include "perdure/runtime/conversation.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"

namespace perdure {

/// Money of a session, in millionths of a dollar. Each is at least 0, and their sum fits 64 bits.
///
/// A request is reserved before it is made: the most that it can cost. Its response turns the
/// reservation into what was spent. Where the cost is not known (the response was lost or cut off,
/// or its provider does not report it), it is `unconfirmed`, and counts as spent until it is
/// recorded what it was. A child session gets a grant; what it did not spend returns with its
/// result.
///
/// What is recorded is never below what was paid: money that was spent is recorded even beyond the
/// limit; only a reservation or a grant is refused there.
struct BudgetTotals {
  std::optional<std::int64_t> limit{};  ///< Empty: none.
  std::int64_t spent = 0;
  std::int64_t unconfirmed = 0;
  std::int64_t reserved = 0;
  std::int64_t granted = 0;
  Unknown unknown{};
  bool operator==(const BudgetTotals&) const = default;

  /// spent + unconfirmed + reserved + granted; the largest number there is if they do not fit.
  [[nodiscard]] std::int64_t recorded() const;
  /// What may still be reserved or granted, 0 if the limit is reached. Empty: no limit.
  [[nodiscard]] std::optional<std::int64_t> available() const;
};

/// The most that a request may cost that was not answered yet, or whose cost is unconfirmed.
struct Reservation {
  std::int64_t micros = 0;
  std::string what{};
  bool is_unconfirmed = false;
  bool operator==(const Reservation&) const = default;
};

/// The budget of a session: its totals, and what is still open of them.
struct Budget {
  BudgetTotals totals{};
  std::map<std::string, Reservation, std::less<>> reservations{};  ///< Open ones, by id.
  std::map<std::string, std::int64_t, std::less<>> grants{};       ///< Open ones, by child session.
  bool operator==(const Budget&) const = default;

  [[nodiscard]] std::optional<std::int64_t> available() const { return totals.available(); }
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

/// From here on the session has another agent.
struct AgentChange {
  std::string agent_digest{};
  std::vector<std::string> parts{};  ///< Names of what has changed.
  std::string who{};                 ///< Allowed the session to continue; empty: nothing to allow.
  Unknown unknown{};
  bool operator==(const AgentChange&) const = default;
};

/// A session that is to work for another one, under that one's setup and grant. When it ends, the
/// parent learns of it through its inbox, and records the result and what the child did not spend.
/// A child that just stops keeps its grant. One that has ended may spend nothing more, also if it
/// is reopened.
struct ChildSpec {
  std::optional<SessionId> id{};  ///< Empty: a fresh one.
  Annotation annotation{};
  std::optional<Setup> setup{};
  std::optional<std::int64_t> grant_micros{};
  std::string agent_digest{};
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

/// Numbers that a session counts by name: retries, nudges, rounds.
struct Counters {
  std::map<std::string, std::int64_t, std::less<>> values{};
  Unknown unknown{};
  bool operator==(const Counters&) const = default;

  /// 0 for one that was never counted.
  [[nodiscard]] std::int64_t at(std::string_view name) const;
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

inline constexpr std::size_t scratch_value_bytes_max = std::size_t{16} << 20U;

using ScratchValue = std::variant<std::string, BlobRef>;

/// A change of the scratchpad.
struct ScratchEntry {
  std::string key{};                    ///< 1 to 128 of A-Z, a-z, 0-9, `_` and `-`.
  std::optional<ScratchValue> value{};  ///< Empty: the key is deleted.
  std::string by{};                     ///< "outside": edited by hand; empty: the session itself.
  Unknown unknown{};
  bool operator==(const ScratchEntry&) const = default;
};

/// Notes that an agent keeps beside the conversation, by key. They may also be files of a folder,
/// which people may edit: `scratchpad: {folder: PATH}` of an agent file.
struct Scratchpad {
  std::map<std::string, ScratchValue, std::less<>> values{};
  bool operator==(const Scratchpad&) const = default;
};

struct PlacedMessage {
  Position position = 0;
  Message message{};
  bool operator==(const PlacedMessage&) const = default;
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

/// An entry of a user's channel.
struct ChannelItem {
  Position position = 0;
  std::string kind{};
  Body body{};
  bool operator==(const ChannelItem&) const = default;
};

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

/// A value.
struct State {
  Position head = 0;          ///< Of the last entry folded; 0: none.
  std::uint64_t entries = 0;  ///< How many were folded.
  Tally totals{};             ///< What all entries folded add up to, passed over or not.
  std::optional<Setup> setup{};
  std::vector<PlacedMessage> transcript{};  ///< By position.
  std::optional<Plan> plan{};
  Budget budget{};
  Counters counters{};
  Approvals approvals{};
  Scratchpad scratchpad{};
  std::optional<Origin> origin{};
  std::map<std::string, Child, std::less<>> children{};  ///< By session id, ended or not.
  std::optional<ChildEnd> end{};                         ///< What its parent is told.
  std::optional<StatusNote> status{};                    ///< The last change of it.
  std::optional<OpenRequest> request{};
  std::map<Position, OpenCall> open_calls{};
  /// After a `replace` entry one item, and what was appended since.
  std::map<std::string, std::vector<ChannelItem>, std::less<>> channels{};
  std::vector<Skipped> skipped{};
  bool operator==(const State&) const = default;
};

/// Takes the next entry of the line in. A `replace` entry of a list empties it first.
void fold(State& state, const Entry& entry);

/// The message at that position; null if there is none.
[[nodiscard]] const Message* find_message(const State& state, Position position);

/// The arguments as the model wrote them; empty if the message that has them cannot be read.
/// Lives as long as the state is not changed.
[[nodiscard]] std::optional<std::string_view> args_of(const State& state, const OpenCall& call);

/// How two versions of a session differ, or a session and its fork.
struct Difference {
  /// Positions of messages that only b has, and that only a has. Where both have another
  /// message at one position, as two forks may, it is in both lists.
  std::vector<Position> messages_added{};
  std::vector<Position> messages_removed{};
  bool is_setup_changed = false;
  bool is_plan_changed = false;
  bool is_budget_changed = false;
  std::vector<std::string> counters{};    ///< Names whose numbers differ.
  std::vector<std::string> scratchpad{};  ///< Keys whose values differ.
  std::vector<std::string> channels{};    ///< The user's, whose items differ.
  bool operator==(const Difference&) const = default;

  [[nodiscard]] bool is_empty() const { return *this == Difference{}; }
};

/// From a to b. What is missing on one side differs.
[[nodiscard]] Difference diff(const State& a, const State& b);

}  // namespace perdure
