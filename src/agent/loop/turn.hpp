// One run of the loop over a session.
//
// A step is: take in what others left, run the calls that are open, then ask the model once. What
// it is asked follows from the state alone, so nothing is lost with this process but the
// time since the last response.

#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "core/api/guarded.hpp"
#include "perdure/agent/agent.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/agent/tools.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/read.hpp"

namespace perdure {

/// Notifies observers when the tools of a session start and return: tools run on threads of their
/// own, and may return when the session is no longer running.
/// Thread safety: every method may be called from any thread at any time.
class ToolWatch {
 public:
  void attach(const SessionId& session, AgentObserver& observer);
  /// Once it returns, the observer gets no more events.
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

  std::mutex mutex_;  ///< Never held while an observer is called.
  /// Shared with those who are about to tell.
  std::map<std::string, std::shared_ptr<Watched>, std::less<>> sessions_;
};

/// The toolbox's tools; those that run something tell the watch.
/// Fails: as Tools::of.
[[nodiscard]] Result<Tools> watched(const Toolbox& toolbox,
                                    const std::shared_ptr<ToolWatch>& watch);

/// The conversation of a session as its provider knows it. What the provider was given before is
/// not given again: a request costs what is new. The new is passed on in parts, each gone before
/// the next: the first request of a long session holds no second copy of it. Another model is given
/// all of it again, without the thinking of the one before it.
class Conversation {
 public:
  explicit Conversation(std::unique_ptr<Provider> provider) : provider_(std::move(provider)) {}

  /// Prepares what the state says, and `input` after it. Fails: as Provider::prepare; `unavailable`
  /// if it throws.
  [[nodiscard]] Result<PreparedRequest> prepare(const Setup& setup, const State& state,
                                                const std::optional<Message>& input);
  /// Sends what was prepared. A provider that throws is a connection that was lost: what it
  /// reported before is a response that was cut off; if that is nothing, it is unknown whether one
  /// was paid for.
  [[nodiscard]] ModelOutcome send(ModelObserver& observer, const std::stop_token& stop);

 private:
  void forget();

  std::unique_ptr<Provider> provider_;
  std::string model_;  ///< That was told it.
  GrowingHistory history_;
  std::size_t told_ = 0;          ///< Messages of the state.
  std::optional<Message> input_;  ///< That was told after them.
};

/// What sessions of an agent share.
struct AgentServices {
  AgentServices(Store& of, RuntimeOptions& options)
      : store(of), sources(options.clock, options.ids) {}

  Store& store;
  GuardedSources sources;  ///< Where clock and ids are kept.
  /// Shared with tools, which may outlive their time.
  std::shared_ptr<ToolWatch> watch = std::make_shared<ToolWatch>();
};

}  // namespace perdure

namespace perdure::loop {

struct TurnParts {
  const AgentSpec& spec;
  const AgentServices& services;
  Session& session;
  Conversation& conversation;
  std::stop_token stop{};  ///< Of the caller that runs it.
};

/// `input` has its id and time. Fails: as AgentSession::run.
[[nodiscard]] Result<TurnReport> run_turn(const TurnParts& parts, std::optional<Message> input);

}  // namespace perdure::loop
