// This process as a worker of the store: enrolled, renewed in time, retired at the end.
//
// Renewal is at a third of the lease time, on a thread of its own, so that a long model
// call or tool does not lose the lease. A renewal counts from the moment it was started. Code about
// to act on the world asks `may_act` first: it returns no some time before the lease ends, whatever
// the renewals do. That only makes us stop early; safety rests on the fence. A renewal that comes
// back late says nothing of the time between: what was held may be another worker's by now
// (SessionWriter::check_may_act).
//
// To the store a worker that asks for a session which it has already is its owner: it gets the same
// lease. And a lease may end while its object is alive, with a call under way. So that
// a process never has two objects of a session, an object takes the session's place first: one register
// a process, for all its workers and store objects.

#pragma once

#include <condition_variable>
#include <cstdint>
#include <expected>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <tuple>
#include <utility>

#include "core/api/guarded.hpp"
#include "core/api/own_process.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"

namespace perdure {
class Worker {
 public:
  struct Options {
    WorkerId id{};
    std::string host{};
    std::int64_t pid = 0;
    Duration lease_time{30'000};
    /// Off: only `renew` renews.
    bool renews_itself = true;
    std::unique_ptr<GuardedSources> sources{};  ///< To be kept as long as the worker.
  };

  /// The one object of a session in this process: as long as this lives there is no other, under
  /// whatever worker and through whatever store object. A process is the pid that its workers give.
  class Place {
   public:
    Place(Place&& other) noexcept
        : taken_(std::exchange(other.taken_, nullptr)), key_(std::move(other.key_)) {}
    Place& operator=(Place&& other) = delete;
    ~Place();

   private:
    friend class Worker;
    /// Incarnation of the store, pid of the worker, session.
    using Key = std::tuple<std::string, std::int64_t, SessionId>;
    struct Taken;
    Place(Taken& taken, Key key) : taken_(&taken), key_(std::move(key)) {}
    [[nodiscard]] static Taken& taken_here();

    Taken* taken_;  ///< Null: moved from.
    Key key_;
  };

  /// The right to write to a session: the place, and the lease.
  struct Grip {
    Place place;
    Lease lease;
  };

  /// Both must outlive the worker. Fails: as Ownership::enroll.
  [[nodiscard]] static Result<std::unique_ptr<Worker>> enroll(Store& store, const Clock& clock,
                                                              Options options);
  /// Retires: all it holds is free at once.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  [[nodiscard]] const WorkerId& id() const { return options_.id; }

  /// To be taken before the lease is asked for, and given back after it is released.
  /// Fails: `lease_held`, with the worker that has it as subject, while another object of this
  /// process has it.
  [[nodiscard]] Result<Place> take_place(const SessionId& session);

  /// Takes the place and the lease of a session that is there.
  /// Fails: as take_place; as Ownership::acquire; `lease_held` says who has it, where and since when.
  [[nodiscard]] Result<Grip> take(const SessionId& session);

  /// Whether the lease holds for a while yet.
  [[nodiscard]] bool may_act() const;

  /// Asked to stop when the lease could not be renewed in time. A later renewal does not
  /// take that back: what runs under it must end.
  [[nodiscard]] std::stop_token stop_token() const;

  /// Renews now. Fails: as Ownership::renew; then what runs is asked to stop if it is time.
  Result<void> renew();

 private:
  Worker(Store& store, const Clock& clock, Options options);

  void keep_renewing(const std::stop_token& end);
  [[nodiscard]] Duration margin() const { return options_.lease_time / 6; }

  const OwnProcess process_;
  Store& store_;
  const Clock& clock_;
  const Options options_;

  mutable std::mutex mutex_;
  std::condition_variable_any ended_;
  Uptime renewed_at_{};
  std::stop_source stop_;
  std::jthread thread_;  ///< Last: it uses all of the above.
};

/// This machine's name, as workers tell it.
[[nodiscard]] std::string machine_name();

/// The error, with a message that says "held by worker W on H, process P, since T", or that it is
/// this process; unchanged if the session is no longer held.
[[nodiscard]] std::unexpected<Error> name_holder(Store& store, const SessionId& session,
                                                 Error error);

}  // namespace perdure
