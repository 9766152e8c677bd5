// A session that this process holds: its state, and the only way to change it.
//
// Whoever has the object has the session's lease; the runtime renews it in the
// background (runtime.hpp). Every method that writes is one commit: what it says is in
// the log when it returns, or nothing of it. The state is a fold over the log, the same
// here as after a resume.
//
// When another worker has taken over, a write gives `lease_lost` and nothing happens;
// drop the object then. When a commit's answer was lost it is repeated under the same
// batch id; if it stays `commit_unknown`, every further write first finds out.
//
// Threads: one at a time. Any write also fails as Store::commit does.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/difference.hpp"
#include "perdure/runtime/message.hpp"
#include "perdure/runtime/plan.hpp"
#include "perdure/runtime/setup.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/commit.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/ownership.hpp"
#include "perdure/store/point.hpp"

namespace perdure {

class HeldSession;

class Session {
 public:
  explicit Session(std::unique_ptr<HeldSession> held);
  /// Gives the lease up; what was committed stays.
  ~Session();
  Session(Session&& other) noexcept;
  Session& operator=(Session&& other) noexcept;

  [[nodiscard]] const SessionId& id() const;
  [[nodiscard]] const Lease& lease() const;
  /// As of the last commit of this object.
  [[nodiscard]] const State& state() const;
  [[nodiscard]] Status status() const;

  /// Gives the message an id and a time if it has none.
  Result<Position> append(Message message);
  /// To a list of the user's own.
  /// Fails: `invalid_argument` for a channel of the runtime.
  Result<Position> append(const std::string& channel, Body body);
  /// Makes it the value of a channel of the user's own. Fails: as append.
  Result<Position> set(const std::string& channel, Body body);
  Result<Position> set(const Setup& setup);
  Result<Position> set(const Plan& plan);
  /// Returns the new number. Fails: `invalid_argument` for a bad name, or beyond 64 bits.
  Result<std::int64_t> count(const std::string& counter, std::int64_t by = 1);

  /// Names the head.
  Result<Version> checkpoint(const NewCheckpoint& note = {.reason = "asked"});

  /// Fails: `conflict` out of `completed`, `failed` or `cancelled`: only `reopen` leads there.
  Result<void> set_status(const StatusChange& change);
  /// Makes an ended session active again; the log says who did, and why.
  /// Fails: `conflict` if it has not ended.
  Result<void> reopen(const std::string& who, const std::string& why);
  Result<void> annotate(const Annotation& part);

  /// Fails: `not_found` for a point that does not exist or was pruned.
  [[nodiscard]] Result<State> state_at(Point point) const;
  [[nodiscard]] Result<std::vector<Checkpoint>> versions(const CheckpointQuery& query = {}) const;
  [[nodiscard]] Result<Difference> diff(Point from, Point to) const;

  /// Goes on from an old point, in this session: what came after it stays readable, on its own
  /// line. Effects are not undone.
  /// Fails: `not_found`; `conflict` while a call is unresolved.
  Result<void> rewind(Point point);

  /// For the rest of the runtime.
  [[nodiscard]] HeldSession& held() { return *held_; }

 private:
  std::unique_ptr<HeldSession> held_;
};

}  // namespace perdure
