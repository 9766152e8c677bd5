// Two owners of one session, each a process: the first is stopped past its lease, the second takes
// over, then the first goes on. What the first may still do is told by the world and by the log.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "crash/child_process.hpp"
#include "effects/play.hpp"
#include "effects/trial.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "world/wire.hpp"

namespace perdure::effects {

/// What an owner is told (owner_child.cpp).
struct OwnerWords {
  std::string stop = "never";
  bool renews_late = false;
  std::string ahead = "0";
  Duration wait{0};
};

/// Far enough ahead for the leases of others to be over.
inline constexpr const char* past_the_lease = "31000";

/// All that a session is.
struct Portrait {
  std::vector<Entry> log{};
  std::vector<Call> calls{};
  Status status = Status::active;
  Version version = 0;
  bool operator==(const Portrait&) const = default;
};

class Rivals {
 public:
  Rivals(Manner manner, const Backend& backend) : trial_(manner, backend) {}

  [[nodiscard]] Trial& trial() { return trial_; }

  /// Starts an owner, which says what it does.
  [[nodiscard]] std::unique_ptr<ChildProcess> start(const OwnerWords& words) const;

  /// The first owner plays until it stops. False: it never did, and came to its end.
  [[nodiscard]] bool play_first(const std::string& stop, bool renews_late = false);
  [[nodiscard]] ChildProcess& first() { return *first_; }
  /// The second one takes over and plays as far as it can without waiting for time or for people.
  void take_over(const OwnerWords& words = {.ahead = past_the_lease});
  /// The first one wakes up and comes to its end: the last thing it says. Anything it wrote is a
  /// complaint.
  [[nodiscard]] std::string wake_first();
  /// The second one goes on, and others after it, until the session is done.
  void finish();

  [[nodiscard]] Portrait portrait() const;
  /// What took effect or was asked for, but for responses.
  [[nodiscard]] std::vector<world::Tally> effects() const;
  [[nodiscard]] const std::vector<std::string>& complaints();

 private:
  void hear_second();

  Trial trial_;
  std::unique_ptr<ChildProcess> first_;
  std::unique_ptr<ChildProcess> second_;
  std::vector<std::string> complaints_;
};

}  // namespace perdure::effects
