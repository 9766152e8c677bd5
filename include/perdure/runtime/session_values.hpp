// What a session has beside its conversation and its calls: its budget, where it comes from, its
// children, its counters, the changes of its status and its scratchpad; and how two states differ.

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
#include "perdure/runtime/conversation.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"

namespace perdure {

struct State;
struct OpenCall;

/// Money of a session, in millionths of a dollar, never a fraction. Each is at least 0, and their sum
/// fits 64 bits.
///
/// A request is reserved before it is made: the most that it can cost. Its response turns the
/// reservation into what was spent. Where all of that is not known (the response was lost or cut off,
/// or its provider does not report it), the rest is `unconfirmed`: it counts as spent until it is
/// recorded what it cost, or that it cost nothing. A child session gets a grant; what it did not spend
/// returns with its result.
///
/// What is recorded (spent + unconfirmed + reserved + granted) is never below what was paid. So money
/// that was spent is recorded even beyond the limit; only a reservation or a grant is refused there.
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
  /// The scope of `once_per_session`: the id of the oldest session of the tree, or of a fork that has
  /// effects of its own.
  std::string root{};
  /// Minted with the root and inherited by its forks, branches and children: an id may be used
  /// again, by another session or in another store. Empty: it cannot be read any more, so nothing can
  /// be done once in the tree.
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

/// A session that is to work for another one. Both logs keep a record. The parent's commit that creates
/// the child has its setup and limit; the child copies them to its own log when it is first opened.
/// When it ends, the parent learns of it through its inbox, and records the result and what the child
/// did not spend. A child that just stops keeps its grant. One that has ended may spend nothing more,
/// also if it is reopened.
struct ChildSpec {
  std::optional<SessionId> id{};  ///< Empty: a fresh one. From a call: see child_of.
  Annotation annotation{};
  std::optional<Setup> setup{};
  std::optional<std::int64_t> grant_micros{};
  std::string agent_digest{};
};

/// The id of the child that a call spawns: the same however often the call is made, and no other
/// call's, also if the parent's id is used again.
[[nodiscard]] SessionId child_of(const SessionId& parent, const OpenCall& call);

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

/// Who changed a session's status, and why. A session begins as `active`; the last note of its log has
/// its status. Notes that a fork shares with its parent are about the parent.
struct StatusNote {
  Position position = 0;  ///< Of its entry.
  Status status = Status::active;
  std::string who{};  ///< A person, the id of a worker, `dispatcher`, `store` …
  std::string why{};
  Unknown unknown{};
  bool operator==(const StatusNote&) const = default;
};

/// A key is a file's name too.
inline constexpr std::size_t scratch_key_bytes_max = 128;
inline constexpr std::size_t scratch_value_bytes_max = std::size_t{16} << 20U;
/// Longer values are blobs.
inline constexpr std::size_t scratch_inline_bytes_max = std::size_t{16} << 10U;

/// Letters and digits of ASCII, `_` and `-`; at least one.
/// Fails: `invalid_argument`.
[[nodiscard]] Result<void> check_scratch_key(std::string_view key);

using ScratchValue = std::variant<std::string, BlobRef>;

/// A change of the scratchpad.
struct ScratchEntry {
  std::string key{};
  std::optional<ScratchValue> value{};  ///< Empty: the key is deleted.
  std::string by{};                     ///< "outside": edited by hand; empty: the session itself.
  Unknown unknown{};
  bool operator==(const ScratchEntry&) const = default;
};

/// Notes that an agent keeps beside the conversation, by key.
///
/// They may also be files, `<root>/<session id>/<key>.txt` (an id with other characters than a key's
/// gives `%` and its SHA-256): an agent file names the root, `scratchpad: {folder: PATH}`. They are
/// written at the end of a turn, each replaced by a rename, and read at a resume. The log is the truth,
/// and a file is compared with it by its digest:
///   - a content that the log recorded for the key, on any line of the session, is an old file, and is
///     replaced;
///   - any other content was edited by hand, and wins: it becomes an entry by "outside", and what it
///     replaces stays in the log;
///   - a missing file says nothing, and is written again. To empty a note, empty its file.
/// So wherever a process dies, between a commit and a rename or between two renames, nothing is taken
/// for an edit that was not one. After a store was restored from a backup, newer files count as edited
/// by hand. What cannot be read as a note (a link, too many bytes, not UTF-8) is named and left alone.
/// A session of the same id in another store has the same folder: give it another root.
struct Scratchpad {
  std::map<std::string, ScratchValue, std::less<>> values{};
  bool operator==(const Scratchpad&) const = default;
};

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
