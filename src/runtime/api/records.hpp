// Records of the log, and how they are written: for the layers of Perdure; not installed.
//
// A log is made of entries, each with a channel, a kind and a body. The functions here turn the values
// of a session into the JSON of such a body and back. Where a parameter `kind` is asked for, the kind
// of the entry is a field of the value, and not in its JSON.
//
// Every `…_from_json` fails: `invalid_argument` for another kind, or text that is not such a record;
// `unsupported` for one of a newer version.
//
// A message is `{"id", "role", "created_at", "blocks": [{"kind", …}]}`. A setup is `{"system_prompt",
// "model", "parameters", "tools": [{"name", "description", "input_schema"}]}`. A plan is `{"id",
// "objective", "created_at", "steps": [{"id", "description", "status", "evidence"?, "notes"}],
// "postconditions": [{"description", "satisfied", "evidence"?}]}`.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "runtime/api/state_details.hpp"

namespace perdure {

[[nodiscard]] std::string to_json(const Message& message);
[[nodiscard]] std::string to_json(const Setup& setup);
[[nodiscard]] std::string to_json(const Plan& plan);
[[nodiscard]] Result<Message> message_from_json(std::string_view text);
[[nodiscard]] Result<Setup> setup_from_json(std::string_view text);
[[nodiscard]] Result<Plan> plan_from_json(std::string_view text);

[[nodiscard]] std::string_view to_string(Role role);

/// The arguments of a call as a model wrote them. Nothing at all is an empty object: some models
/// send that.
/// Fails: as parse_json.
[[nodiscard]] Result<Json> parse_args(std::string_view args);

[[nodiscard]] std::string_view to_string(StepStatus status);
[[nodiscard]] std::optional<StepStatus> step_status_from(std::string_view text);
/// Appends a pending step and returns its id: one above the highest there is.
std::string add_step(Plan& plan, std::string description);
void add_postcondition(Plan& plan, std::string description);

/// A change of one step.
struct StepUpdate {
  StepStatus status = StepStatus::pending;
  std::optional<std::string> evidence{};  ///< Needed for `done`, and kept only there.
  std::optional<std::string> notes{};     ///< Empty: the notes stay.
};

/// The plan is unchanged if this fails.
/// Fails: `not_found` for the step; `invalid_argument` for `done` without evidence.
[[nodiscard]] Result<void> update_step(Plan& plan, std::string_view step, StepUpdate update);

/// Fails: `not_found` for the index; `invalid_argument` without evidence.
[[nodiscard]] Result<void> satisfy(Plan& plan, std::size_t postcondition, std::string evidence);

/// Channel `calls`, kind `attempt`: the call is dispatched, and by which worker; in the commit that
/// does it.
struct Attempted {
  Position call = 0;
  std::int64_t number = 1;
  std::string worker{};
  /// How many calls had failed under the key when the first attempt began: part of the vendor's key.
  std::int64_t key_generation = 0;
  /// A verify said that no earlier attempt took effect, when none could any more.
  bool none_landed = false;
  Unknown unknown{};
  bool operator==(const Attempted&) const = default;
};

/// Kind `doubt`: it is not known what became of the call, and why.
struct Doubt {
  Position call = 0;
  std::string why{};
  /// The attempt has returned, as its maker reports, or the process that made it has ended.
  bool has_ended = false;
  Unknown unknown{};
  bool operator==(const Doubt&) const = default;
};

/// Kind `evidence`: something that helps to find out what became of it.
struct Evidence {
  Position call = 0;
  std::string text{};
  Unknown unknown{};
  bool operator==(const Evidence&) const = default;
};

/// Kind `resolution`: who settled it, how, and why.
struct Resolution {
  Position call = 0;
  std::string decision{};  ///< succeeded, failed, retry or abandoned.
  std::string who{};
  std::string why{};
  Unknown unknown{};
  bool operator==(const Resolution&) const = default;
};

/// Of what was intended; what followed has records of its own.
[[nodiscard]] std::string to_json(const OpenCall& intent);
[[nodiscard]] std::string to_json(const Attempted& attempt);
[[nodiscard]] std::string to_json(const Doubt& doubt);
[[nodiscard]] std::string to_json(const Evidence& evidence);
[[nodiscard]] std::string to_json(const Resolution& resolution);
[[nodiscard]] std::string to_json(const Request& request);

[[nodiscard]] Result<OpenCall> intent_from_json(std::string_view text);
[[nodiscard]] Result<Attempted> attempt_from_json(std::string_view text);
[[nodiscard]] Result<Doubt> doubt_from_json(std::string_view text);
[[nodiscard]] Result<Evidence> evidence_from_json(std::string_view text);
[[nodiscard]] Result<Resolution> resolution_from_json(std::string_view text);
[[nodiscard]] Result<Request> request_from_json(std::string_view text);

/// The mark on a result that settles a call: a `tool_result` block with the members `call`, the position
/// of the intent, and `outcome`, a state of the ledger. They are among the members that a block does
/// not know, so that the block stays what providers make of it.
struct Outcome {
  Position call = 0;
  std::optional<CallState> state{};  ///< Empty: missing, or a word this version does not know.
  bool operator==(const Outcome&) const = default;

  /// succeeded, failed, denied, cancelled or abandoned: nothing more follows.
  [[nodiscard]] bool is_final() const;
};

/// Marks a result, in place of an earlier mark.
void set_outcome(ToolResultBlock& result, const Outcome& outcome);
/// The mark of a result; empty if it has none.
[[nodiscard]] std::optional<Outcome> outcome_of(const ToolResultBlock& result);

/// The kind of an entry after which nothing that was decided before counts. It has no body.
inline constexpr std::string_view voided_kind = "voided";

[[nodiscard]] std::optional<ApprovalDecision> approval_decision_from(std::string_view text);
[[nodiscard]] std::string to_json(const Approval& approval);
[[nodiscard]] Result<Approval> approval_from_json(std::string_view kind, std::string_view text);

// A budget. The log has one entry for each change, kind and body, and the totals after it: where an
// entry was erased or damaged, the next one still has the right totals.

/// `give_back` is written "return".
enum class BudgetChange : std::uint8_t {
  limit,
  reserve,
  spend,
  unconfirmed,
  release,
  grant,
  give_back,
};

[[nodiscard]] std::string_view to_string(BudgetChange change);
[[nodiscard]] std::optional<BudgetChange> budget_change_from(std::string_view text);

struct BudgetEntry {
  BudgetChange change = BudgetChange::spend;
  /// The reservation's id (reserve, spend, unconfirmed, release; a spend may have none), or
  /// the child session (grant, return).
  std::string subject{};
  /// limit: the limit, empty for none. reserve: all of the reservation, also of one that is open.
  /// spend: what was paid. unconfirmed: what may have been paid; empty for all that was reserved.
  /// return: what was not spent. Without meaning for release.
  std::optional<std::int64_t> micros{};
  std::string what{};                   ///< What for, or by whom and why.
  std::optional<BudgetTotals> after{};  ///< The totals once this is done.
  Unknown unknown{};
  bool operator==(const BudgetEntry&) const = default;
};

/// Does what the entry says. Does not look at the limit, nor at `after`. A spend whose
/// reservation is not there counts all the same: it was paid. The budget is unchanged if
/// this fails.
/// Fails: `invalid_argument` below zero or beyond 64 bits; `already_exists` for a
/// reservation that is unconfirmed; `not_found` for an unknown reservation or grant.
[[nodiscard]] Result<void> apply(Budget& budget, const BudgetEntry& entry);

/// To write: applies `wanted` and returns it with the totals after it.
/// Fails: as apply; `conflict`, about "budget", for a reservation or a grant beyond what is
/// available.
[[nodiscard]] Result<BudgetEntry> enter(Budget& budget, BudgetEntry wanted);

/// To read: applies what was written. Its totals are right, whatever is missing before it.
/// Fails: as apply, where the entry has no totals.
[[nodiscard]] Result<void> replay(Budget& budget, const BudgetEntry& entry);

[[nodiscard]] std::string to_json(const BudgetEntry& entry);
[[nodiscard]] Result<BudgetEntry> budget_entry_from_json(std::string_view kind,
                                                         std::string_view text);

// Origins: `{"root", "nonce", "agent_digest"}` on channel `origin`, of kind `origin` at the beginning,
// then one of kind `agent`, `{"agent_digest", "parts", "who"}`, for each change of the agent.

/// The origin of a session that has effects of its own.
[[nodiscard]] Origin root_origin(const SessionId& session, IdSource& ids);

/// From here on the session has another agent.
struct AgentChange {
  std::string agent_digest{};
  std::vector<std::string> parts{};  ///< Names of what has changed.
  std::string who{};                 ///< Allowed the session to continue; empty: nothing to allow.
  Unknown unknown{};
  bool operator==(const AgentChange&) const = default;
};

[[nodiscard]] std::string to_json(const Origin& origin);
[[nodiscard]] std::string to_json(const AgentChange& change);

[[nodiscard]] Result<Origin> origin_from_json(std::string_view text);
[[nodiscard]] Result<AgentChange> agent_change_from_json(std::string_view text);

// Children, on channel `children` of both logs. The parent's commit that creates a child has a `spawn`
// as its last entry, and the child's row names that position: there the child finds the scope of its
// effects, its setup and its limit. When it ends, its log gets an `end`; the parent's gets a `result`
// beside the `return` of what the child did not spend. A repeated message counts once. What a child
// spent beyond its grant is recorded as spent by the parent.

/// The parent's record of a new child.
struct ChildSpawn {
  std::string child{};
  std::string root{};   ///< Of the effect scope.
  std::string nonce{};  ///< Of that root.
  std::string agent_digest{};
  std::optional<std::int64_t> limit_micros{};  ///< Its grant; empty: no limit.
  std::optional<Setup> setup{};
  Unknown unknown{};
  bool operator==(const ChildSpawn&) const = default;
};

[[nodiscard]] std::string to_json(const ChildSpawn& spawn);
[[nodiscard]] std::string to_json(const ChildEnd& end);
[[nodiscard]] Result<ChildSpawn> child_spawn_from_json(std::string_view text);
[[nodiscard]] Result<ChildEnd> child_end_from_json(std::string_view text);

/// The id of the child that a call spawns: the same however often the call is made, and no other
/// call's, also if the parent's id is used again.
[[nodiscard]] SessionId child_of(const SessionId& parent, const OpenCall& call);

// Counters: `{"counters": {name: integer}}`.

/// Returns the new number. The counter is unchanged if this fails.
/// Fails: `invalid_argument` for a name that core's check_name refuses, or beyond 64 bits.
[[nodiscard]] Result<std::int64_t> add(Counters& counters, std::string_view name,
                                       std::int64_t number);

[[nodiscard]] std::string to_json(const Counters& counters);

[[nodiscard]] Result<Counters> counters_from_json(std::string_view text);

// Notes of a change of status: `{"who", "why"}` on channel `status`, in the commit that makes the
// change, of kind `session_resumed` (active again), `session_waiting`, `session_paused`,
// `session_completed`, `session_failed` or `session_cancelled`.

/// The kind of its entry.
[[nodiscard]] std::string_view status_kind(Status status);
/// Without position and status, which the entry has.
[[nodiscard]] std::string to_json(const StatusNote& note);
[[nodiscard]] Result<StatusNote> status_note_from_json(std::string_view kind,
                                                       std::string_view text);

// Changes of a scratchpad: `set` with `{"key", "text"}` or `{"key", "blob", "size"}` (the digest),
// `delete` with `{"key"}`; `"by"` names the author if it was not the agent. The store keeps a blob for
// the entry whose body is its reference, and does not look into JSON: a writer that sets a key to a
// blob writes a second entry beside it, kind `blob`, whose body is `Body::from_blob`.

/// A change of the scratchpad.
struct ScratchEntry {
  std::string key{};                    ///< 1 to 128 of A-Z, a-z, 0-9, `_` and `-`.
  std::optional<ScratchValue> value{};  ///< Empty: the key is deleted.
  std::string by{};                     ///< "outside": edited by hand; empty: the session itself.
  Unknown unknown{};
  bool operator==(const ScratchEntry&) const = default;
};

/// Longer values are blobs.
inline constexpr std::size_t scratch_inline_bytes_max = std::size_t{16} << 10U;
/// The most that a note may hold.
inline constexpr std::size_t scratch_value_bytes_max = std::size_t{16} << 20U;

/// Letters and digits of ASCII, `_` and `-`; 1 to 128, since a key is a file's name too.
/// Fails: `invalid_argument`.
[[nodiscard]] Result<void> check_scratch_key(std::string_view key);

/// To delete a key that is not there is not an error.
/// Fails: `invalid_argument` for a bad key; the scratchpad is unchanged.
[[nodiscard]] Result<void> apply(Scratchpad& scratchpad, ScratchEntry entry);
/// "set" or "delete".
[[nodiscard]] std::string_view kind_of(const ScratchEntry& entry);
[[nodiscard]] std::string to_json(const ScratchEntry& entry);
[[nodiscard]] Result<ScratchEntry> scratch_entry_from_json(std::string_view kind,
                                                           std::string_view text);

}  // namespace perdure
