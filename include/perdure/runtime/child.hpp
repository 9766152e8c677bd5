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

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/message.hpp"
#include "perdure/runtime/setup.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"

namespace perdure {

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
