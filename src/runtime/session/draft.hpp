// What one commit of a session will hold, while it is put together.
//
// Positions are known before the commit: nobody else writes while we hold the lease, so
// the entries get the numbers that follow. A call can thus refer to its own intent.

#pragma once

#include <string>
#include <utility>
#include <vector>

#include "perdure/store/commit.hpp"
#include "perdure/store/log.hpp"
#include "runtime/api/status_entry.hpp"

namespace perdure {

class Draft {
 public:
  /// `next` is the position that the session's next entry gets.
  explicit Draft(Position next) : next_(next) {}

  /// The position that the next entry added will have.
  [[nodiscard]] Position next() const { return next_ + batch.entries.size(); }

  /// Adds an entry and returns the position it will have.
  Position add(NewEntry entry) {
    const Position position = next();
    batch.entries.push_back(std::move(entry));
    return position;
  }

  /// How it leaves the session, by whom and why.
  void stand(StatusChange change, StatusReason because = {}) {
    batch.status = std::move(change);
    reason = std::move(because);
  }

  /// All but id, expected head and entries may be set from outside.
  Batch batch{};
  /// Of its change of status: the commit makes an entry of it.
  StatusReason reason{};

 private:
  Position next_;
};

/// An entry of JSON text that adds to a list, or replaces a value.
[[nodiscard]] inline NewEntry appending(std::string channel, std::string kind, std::string json) {
  return {.channel = std::move(channel),
          .kind = std::move(kind),
          .body = Body::from_text(std::move(json))};
}
[[nodiscard]] inline NewEntry replacing(std::string channel, std::string kind, std::string json) {
  NewEntry entry = appending(std::move(channel), std::move(kind), std::move(json));
  entry.fold = Fold::replace;
  return entry;
}

}  // namespace perdure
