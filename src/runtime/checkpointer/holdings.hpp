// The sessions that a checkpointer has, each under a lock of its own, and the worker it is.

#pragma once

#include <fmt/format.h>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "checkpointer/held_log.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/own_process.hpp"
#include "perdure/runtime/checkpointer.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "session/worker.hpp"

namespace perdure::checkpointing {

/// Ended or paused: somebody decided that it rests. It is read, and not gone on with.
[[nodiscard]] bool is_at_rest(Status status);

class Holdings {
 public:
  /// `store` must outlive this. Writes nothing yet.
  Holdings(Store& store, const CheckpointerOptions& options) : store_(store), options_(options) {}

  /// Does `work`, a function of a HeldLog that returns a Result, with a session that this has.
  /// Fails: `conflict` if it has not.
  template <class Work>
  auto with_held(const SessionId& session, Work work) {
    return locked(session, std::move(work), [&](Slot& slot) -> Result<void> {
      if (slot.held) return {};
      return fail(ErrorCode::conflict,
                  fmt::format("session {} is not ours: start or load it first", session.text()));
    });
  }

  /// Creates the session with what it begins with, and has it from then on.
  /// Fails: as HeldLog::begin.
  [[nodiscard]] Result<void> begin(const SessionId& session, const std::vector<NewEntry>& opening);

  /// As with_held; takes the session up first.
  /// Fails: as HeldLog::take_up.
  template <class Work>
  auto with_taken(const SessionId& session, Work work) {
    return locked(session, std::move(work), [&](Slot& slot) { return take_up(slot, session); });
  }

 private:
  struct Slot {
    std::mutex mutex;
    std::unique_ptr<HeldLog> held;
  };

  // A session is let go when its lease is lost or it is at rest.
  template <class Work, class Prepare>
  auto locked(const SessionId& session, Work work, Prepare prepare)
      -> decltype(work(std::declval<HeldLog&>())) {
    if (auto here = process_.check(); !here) return forward(here);
    const auto slot = find_slot(session);
    const std::lock_guard lock(slot->mutex);
    if (auto prepared = prepare(*slot); !prepared) return forward(prepared);
    auto done = settled(*slot->held, work);
    const bool is_lost = !done && done.error().code == ErrorCode::lease_lost;
    if (is_lost || is_at_rest(slot->held->status())) slot->held.reset();
    return done;
  }

  template <class Work>
  static auto settled(HeldLog& held, Work& work) -> decltype(work(held)) {
    if (auto known = held.settle(); !known) return forward(known);
    return work(held);
  }

  [[nodiscard]] std::shared_ptr<Slot> find_slot(const SessionId& session);
  [[nodiscard]] Result<void> take_up(Slot& slot, const SessionId& session);
  [[nodiscard]] Result<Worker*> enrolled();

  const OwnProcess process_;
  Store& store_;
  const CheckpointerOptions options_;
  std::mutex mutex_;
  std::unique_ptr<Worker> worker_;
  /// After the worker: they are given up before it retires. Shared with whoever is at work in one.
  std::map<SessionId, std::shared_ptr<Slot>> slots_;
};

}  // namespace perdure::checkpointing
