// Who is told when the tools of a session start and return: they run on threads of their own, and
// may come back when nobody runs the session any more.

#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "perdure/agent/agent.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/agent/tools.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"

namespace perdure {

/// Thread safety: every method may be called from any thread at any time.
class ToolWatch {
 public:
  void attach(const SessionId& session, AgentObserver& observer);
  /// When it returns, the observer is told nothing any more.
  void detach(const SessionId& session);

  /// Calls `what` with the session's observer, one at a time; not at all if there is none. Sessions
  /// do not wait for each other. What an observer throws ends here: a tool that has done its work
  /// must not pass for one that failed.
  template <class What>
  void tell(const SessionId& session, const What& what) {
    const auto watched = find(session);
    if (watched == nullptr) return;
    const std::lock_guard lock(watched->mutex);
    if (watched->observer == nullptr) return;
    try {
      what(*watched->observer);
    } catch (...) {  // NOLINT(bugprone-empty-catch): an observer changes nothing.
    }
  }
  void tell_event(const SessionId& session, const AgentEvent& event) {
    tell(session, [&](AgentObserver& observer) { observer.on_event(event); });
  }

 private:
  struct Watched {
    std::mutex mutex;
    AgentObserver* observer = nullptr;  ///< Null: detached.
  };
  [[nodiscard]] std::shared_ptr<Watched> find(const SessionId& session);

  std::mutex mutex_;  ///< Never held while an observer is told.
  /// Shared with those who are about to tell.
  std::map<std::string, std::shared_ptr<Watched>, std::less<>> sessions_;
};

/// The toolbox's tools; those that run something tell the watch.
/// Fails: as Tools::of.
[[nodiscard]] Result<Tools> watched(const Toolbox& toolbox,
                                    const std::shared_ptr<ToolWatch>& watch);

}  // namespace perdure
