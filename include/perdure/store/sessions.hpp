// Sessions: what exists, and what a person or a worker finds them by.
//
// Every session has one summary row. The store keeps it up to date in the same
// transaction as the facts it sums up, so lists never read the log and carry no
// payload. `status` is set by whoever runs the session; whether it is
// interrupted or needs attention follows from the row.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/ownership.hpp"

namespace perdure {

enum class Status : std::uint8_t { active, waiting, paused, completed, failed, cancelled };

/// Completed, failed or cancelled.
[[nodiscard]] constexpr bool has_ended(Status status) {
  return status == Status::completed || status == Status::failed || status == Status::cancelled;
}
[[nodiscard]] std::string_view to_string(Status status);
[[nodiscard]] std::optional<Status> status_from(std::string_view text);

/// How a session came from another one.
enum class Lineage : std::uint8_t {
  fork,   ///< Shares the parent's log up to the point; goes its own way after it.
  child,  ///< Was spawned by the parent there; has a log of its own.
};

struct Parent {
  SessionId session{};
  Position position = 0;
  Lineage lineage = Lineage::fork;

  bool operator==(const Parent&) const = default;
};

/// What people call a session. Not part of its log: the last writer wins.
struct Annotation {
  std::optional<std::string> title{};
  std::optional<std::string> opening{};  ///< The message it began with, cut by the caller.
  std::optional<std::vector<std::string>> tags{};
  std::optional<std::string> metadata{};  ///< A JSON object.

  bool operator==(const Annotation&) const = default;
};

struct SessionSummary {
  SessionId id{};
  std::string title{};
  std::string opening{};
  std::vector<std::string> tags{};
  std::string metadata = "{}";
  Status status = Status::active;
  std::string wait_reason{};
  std::optional<Timestamp> wake_at{};
  std::optional<Parent> parent{};
  std::optional<Holder> holder{};  ///< Who owns it, alive or not.

  Position head = 0;           ///< The last entry of the active line.
  Position next = 1;           ///< The position the next entry gets.
  Version version = 0;         ///< Of the latest checkpoint ever made; 0 if there was none.
  Tally tally{};               ///< Over the active line, what a fork shares included.
  std::int64_t attention = 0;  ///< Calls of this session in doubt.
  /// Came out of a backup or a salvage; until a commit sets the status.
  bool restored = false;
  /// The store it was moved to (bundle.hpp); empty: it is here. One that was moved can be read and
  /// removed, and nothing else.
  std::string moved_to{};
  std::uint64_t revision = 0;  ///< Rises with every change of this row.
  Timestamp created_at{};
  Timestamp updated_at{};

  /// Active here, and nobody alive runs it.
  [[nodiscard]] bool is_interrupted() const;
  [[nodiscard]] bool needs_attention() const {
    return moved_to.empty() && (attention > 0 || restored);
  }
  bool operator==(const SessionSummary&) const = default;
};

/// A session to be created. The caller mints the id, so that repeating a creation whose reply was
/// lost does not make a second session.
struct NewSession {
  SessionId id{};
  Annotation annotation{};
  Status status = Status::active;
  std::string wait_reason{};
  std::optional<Timestamp> wake_at{};
  struct Origin {
    SessionId session{};
    Point at{};  ///< For a child: where it was spawned.
    Lineage lineage = Lineage::fork;
    bool operator==(const Origin&) const = default;
  };
  std::optional<Origin> origin{};

  bool operator==(const NewSession&) const = default;
};

enum class SessionSort : std::uint8_t { updated, created, title, turns, cost };

struct SessionQuery {
  std::string id_prefix{};         ///< What the id begins with, as UTF-8; empty: any.
  std::vector<Status> statuses{};  ///< Empty: any.
  std::optional<bool> needs_attention{};
  std::optional<SessionId> parent{};
  std::string tag{};       ///< Empty: any.
  std::string contains{};  ///< Within title or opening, ASCII case ignored; empty: any.
  std::optional<Timestamp> updated_since{};
  std::optional<Timestamp> updated_before{};
  SessionSort sort = SessionSort::updated;
  bool descending = true;  ///< Ties are broken by id, in the same direction.
  std::size_t limit = 50;
  std::string cursor{};  ///< From the page before, of the same query.

  bool operator==(const SessionQuery&) const = default;
};

struct SessionPage {
  std::vector<SessionSummary> sessions{};
  std::string next{};  ///< Cursor of the next page; empty at the end.
  /// Some of the list cannot be read: sessions may be missing, here or in another page.
  bool is_damaged = false;
};

class Sessions {
 public:
  virtual ~Sessions() = default;

  /// Creates a session with an empty log, or, as a fork, with everything its
  /// parent has up to the origin's point, at no cost in bytes. One that is to begin with anything of
  /// its own is created with it, by Store::create: between two transactions a process may die.
  /// Fails: `already_exists`, also for one that is on its way here; `not_found` if the origin does
  /// not exist; `conflict` if that is moved, with the place as subject; `invalid_argument` for a bad id, name, tag or metadata.
  [[nodiscard]] virtual Result<SessionSummary> create(const NewSession& session) = 0;

  /// Fails: `not_found`.
  [[nodiscard]] virtual Result<SessionSummary> read(const SessionId& id) = 0;

  /// One page of matching sessions. A session that changes while pages are read
  /// may be seen twice or not at all; one that does not change is seen once. Of a damaged
  /// list what can be read is returned, and marked as such.
  /// Fails: `invalid_argument` for a limit of 0 or beyond `limit_max`, a prefix that
  /// is not UTF-8, or a cursor of another query.
  [[nodiscard]] virtual Result<SessionPage> list(const SessionQuery& query) = 0;

  /// Sessions without a living owner that a worker should take up now, longest due
  /// first: active, or waiting with a wake time that has come. A waiting session
  /// with a message in its inbox is due at once, whichever came first. One that is moved never is.
  /// Fails: `invalid_argument` for a bad limit.
  [[nodiscard]] virtual Result<std::vector<SessionSummary>> due(std::size_t limit) = 0;

  /// Replaces the given parts of the annotation; needs no lease.
  /// Fails: `not_found`; `conflict` if it is moved; `invalid_argument`.
  [[nodiscard]] virtual Result<SessionSummary> annotate(const SessionId& id,
                                                        const Annotation& part) = 0;
};

}  // namespace perdure
