// A session that this process holds: its state, and the only way to change it.
//
// Whoever has the object has the session's lease; the runtime renews it in the
// background (runtime.hpp). Every method that writes is one commit: what it says is in
// the log when it returns, or nothing of it. The state is a fold over the log, the same
// here as after a resume.
//
// When another worker has taken over, a write gives `lease_lost` and nothing happens;
// drop the object then. When a commit's answer was lost it is repeated under the same
// batch id; if it stays `commit_unknown`, every further write gives that too, until one
// of them finds out.
//
// Threads: one at a time.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/difference.hpp"
#include "perdure/runtime/message.hpp"
#include "perdure/runtime/plan.hpp"
#include "perdure/runtime/setup.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/store.hpp"

namespace perdure {

/// A model request about to be made, and the most it may cost.
struct Request {
  std::string model{};
  std::int64_t reserve_micros = 0;
};

/// What a model's answer used.
struct Usage {
  std::int64_t tokens_in = 0;
  std::int64_t tokens_out = 0;
  std::int64_t cost_micros = 0;
};

class Session {
 public:
  /// Gives the lease up; what was committed stays.
  ~Session();
  Session(Session&& other) noexcept;
  Session& operator=(Session&& other) noexcept;

  [[nodiscard]] const SessionId& id() const;
  [[nodiscard]] const Lease& lease() const;
  /// As of the last commit of this object.
  [[nodiscard]] const State& state() const;
  [[nodiscard]] Position head() const;

  // What happens, as entries. Each returns the position it got.

  /// Gives the message an id and a time if it has none.
  Result<Position> append(Message message);
  /// To a channel of the user's own; the runtime's channels are refused.
  Result<Position> append(const std::string& channel, Body body);
  /// Makes `body` the value of the channel.
  Result<Position> set(const std::string& channel, Body body);
  Result<Position> set(const Setup& setup);
  Result<Position> set(const Plan& plan);
  Result<Position> count(const std::string& counter, std::int64_t by = 1);

  /// Names the head.
  Result<Version> checkpoint(const NewCheckpoint& note = {.reason = "asked"});

  /// Fails: `conflict` for a step that no session takes: out of `completed`, `failed` or
  /// `cancelled` only `reopen` leads.
  Result<void> set_status(const StatusChange& change);
  Result<void> reopen(std::string_view who, std::string_view why);
  Result<void> annotate(const Annotation& part);

  // What was.

  /// Fails: `not_found` for a point that does not exist or was pruned.
  [[nodiscard]] Result<State> state_at(Point point) const;
  [[nodiscard]] Result<std::vector<Checkpoint>> versions(const CheckpointQuery& query = {}) const;
  [[nodiscard]] Result<Difference> diff(Point from, Point to) const;

  /// Goes on from an old point, in this session: what came after it stays readable, on its own
  /// line. Effects are not undone.
  Result<void> rewind(Point point);

 private:
  friend class Runtime;
  friend class Dispatcher;
  struct Impl;
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace perdure
