// What a session's log records about the session itself: where it comes from, its status, what it
// counts, and the sessions that work for it.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/id_source.hpp"
#include "perdure/runtime/message.hpp"
#include "perdure/runtime/setup.hpp"
#include "perdure/store/entry.hpp"
#include "perdure/store/sessions.hpp"

namespace perdure {
// Where a session comes from: the scope of its effects, and the agent that it is of.
//
// On channel `origin`. Its beginning is of kind `origin`, `{"root", "nonce", "agent_digest"}`; each
// time that it goes on under another agent there is an entry of kind `agent`, `{"agent_digest",
// "parts", "who"}`.

struct Origin {
  /// The scope of `once_per_session`: the id of the oldest session of the tree, or that of a fork
  /// that was told to have effects of its own.
  std::string root{};
  /// Minted with the root and inherited by its forks, branches and children: an id may be used
  /// again, by another session or in another store. Empty: it cannot be read any more, so nothing
  /// can be done once in the tree.
  std::string nonce{};
  std::string agent_digest{};  ///< Of the agent's definition, as whoever wrote it forms it.
  Unknown unknown{};
  bool operator==(const Origin&) const = default;
};

/// From here on the session is of another agent.
struct AgentChange {
  std::string agent_digest{};
  std::vector<std::string> parts{};  ///< What is not as it was, as whoever compared names it.
  std::string who{};                 ///< Said that it may go on; empty: nobody had to.
  Unknown unknown{};
  bool operator==(const AgentChange&) const = default;
};

/// Of a session whose effects are its own.
[[nodiscard]] Origin root_origin(const SessionId& session, IdSource& ids);

[[nodiscard]] std::string to_json(const Origin& origin);
[[nodiscard]] std::string to_json(const AgentChange& change);

/// Fails: `invalid_argument` for text that is no origin; `unsupported` for a newer version.
[[nodiscard]] Result<Origin> origin_from_json(std::string_view text);
/// Fails: as origin_from_json.
[[nodiscard]] Result<AgentChange> agent_change_from_json(std::string_view text);

// Who changed a session's status, and why.
//
// On channel `status`, one entry for each change, in the commit that makes it: of kind
// `session_resumed` (active again), `session_waiting`, `session_paused`, `session_completed`,
// `session_failed` or `session_cancelled`, with `{"who", "why"}`. A session begins as `active`; what
// its log says last is its status. Entries that a fork shares with its parent speak of the parent.

struct StatusNote {
  Position position = 0;  ///< Of its entry.
  Status status = Status::active;
  std::string who{};  ///< A person, the id of a worker, `dispatcher`, `store` …
  std::string why{};
  Unknown unknown{};
  bool operator==(const StatusNote&) const = default;
};

/// The kind of its entry.
[[nodiscard]] std::string_view status_kind(Status status);
/// Without position and status, which the entry has.
[[nodiscard]] std::string to_json(const StatusNote& note);
/// Fails: `invalid_argument` for another kind, or text that is no note; `unsupported` for a newer
/// version.
[[nodiscard]] Result<StatusNote> status_note_from_json(std::string_view kind,
                                                       std::string_view text);

// Numbers a session counts by name: retries, nudges, rounds.
//
// Their JSON is `{"counters": {name: integer}}`.

struct Counters {
  std::map<std::string, std::int64_t, std::less<>> values{};
  Unknown unknown{};
  bool operator==(const Counters&) const = default;

  /// 0 for one that was never counted.
  [[nodiscard]] std::int64_t at(std::string_view name) const;
};

/// Returns the new number. The counter is unchanged if this fails.
/// Fails: `invalid_argument` for a name that core's check_name refuses, or beyond 64 bits.
[[nodiscard]] Result<std::int64_t> add(Counters& counters, std::string_view name,
                                       std::int64_t number);

[[nodiscard]] std::string to_json(const Counters& counters);

/// Fails: `invalid_argument` for text that is no counters; `unsupported` for a newer version.
[[nodiscard]] Result<Counters> counters_from_json(std::string_view text);

// Sessions that work for another one.
//
// Both sides keep a record on channel `children`. The parent's commit that creates a child has a
// `spawn` as its last entry: the child's row names that position, so that the child finds there,
// whenever it is first opened, the scope of its effects, its setup and its limit, and writes them
// to its own log. When it ends, its log gets an `end`; the parent is told through its inbox, and
// writes a `result` beside the `return` of what the child did not spend. Whatever is told twice
// counts once. A child that just stops keeps its grant.
//
// A child that has ended may spend nothing more, also if it is reopened. What it spent beyond its
// grant (a response that cost more than was reserved for it) is recorded as spent by the parent.

struct OpenCall;

/// A child to be spawned.
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

/// What the parent's log says of a child.
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

/// How a child ended.
struct ChildEnd {
  std::string child{};
  std::int64_t number = 1;  ///< Its how manieth end: it may have been reopened.
  Status status = Status::completed;
  std::int64_t spent_micros = 0;        ///< All that its budget had recorded.
  std::int64_t unconfirmed_micros = 0;  ///< Of that: so much may have been paid, or not.
  std::string result{};
  Unknown unknown{};
  bool operator==(const ChildEnd&) const = default;
};

/// What a parent knows of a child.
struct Child {
  Position spawned = 0;
  std::optional<std::int64_t> limit_micros{};
  std::optional<ChildEnd> end{};  ///< Empty: it has not ended, as far as its parent was told.
  bool operator==(const Child&) const = default;
};

[[nodiscard]] std::string to_json(const ChildSpawn& spawn);
[[nodiscard]] std::string to_json(const ChildEnd& end);

// Each fails: `invalid_argument` for text that is no such record; `unsupported` for a newer version.
[[nodiscard]] Result<ChildSpawn> child_spawn_from_json(std::string_view text);
[[nodiscard]] Result<ChildEnd> child_end_from_json(std::string_view text);

}  // namespace perdure
