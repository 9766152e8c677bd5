// What the simulation itself knows to have happened, beside the log that is judged by it.

#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "perdure/core/id.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "simulation/kinds.hpp"

namespace perdure::simulation {

/// A session as its books name it (SessionBooks::name), and the position of the intent.
using CallId = std::pair<std::string, Position>;

/// Runs of tools that were begun, by call.
struct RunsOfCall {
  const Kind* kind = nullptr;
  std::string operation{};
  std::int64_t runs = 0;
  std::int64_t retries = 0;         ///< Decisions of people that it be run once more.
  std::optional<CallState> last{};  ///< Once its session is deleted: how it ended.
};

/// Tools run on threads: whatever they touch is guarded.
class CallBooks {
 public:
  void note_run(const CallId& call, const Kind& kind, const std::string& operation) {
    const std::lock_guard lock(mutex_);
    RunsOfCall& runs = calls_[call];
    runs.kind = &kind;
    runs.operation = operation;
    ++runs.runs;
  }
  /// Somebody asked the world about a call that may never have been run.
  void note_asked(const CallId& call, const std::string& operation) {
    const std::lock_guard lock(mutex_);
    calls_[call].operation = operation;
  }
  void note_retry(const CallId& call) {
    const std::lock_guard lock(mutex_);
    ++calls_[call].retries;
  }
  /// Its session is about to be deleted.
  void note_end(const CallId& call, CallState state) {
    const std::lock_guard lock(mutex_);
    calls_[call].last = state;
  }
  [[nodiscard]] std::map<CallId, RunsOfCall> all() const {
    const std::lock_guard lock(mutex_);
    return calls_;
  }

 private:
  mutable std::mutex mutex_;
  std::map<CallId, RunsOfCall> calls_;
};

/// What was bought for one session, and what its log must have.
struct SessionBooks {
  /// Its id; with "~2" and so on if that was used before, by one that was deleted.
  std::string name{};
  bool is_fork = false;  ///< It has what its parent spent, on lines that it does not see, too.
  std::map<std::string, std::int64_t> bought{};  ///< Response and its cost.
  std::set<std::string> committed{};             ///< Responses of which a commit returned.
  std::set<std::string> asked_and_answered{};    ///< Conversations that have their response.
};

}  // namespace perdure::simulation
