// One run of the loop over a session.
//
// A step is: take in what others left, run the calls that are open, then ask the model once. What
// it is asked follows from the state alone, so nothing is lost with this process but the
// time since the last response.

#pragma once

#include <memory>
#include <optional>
#include <stop_token>

#include "core/api/guarded.hpp"
#include "loop/conversation.hpp"
#include "loop/tool_watch.hpp"
#include "perdure/agent/agent.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/store.hpp"

namespace perdure {

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
  std::stop_token stop{};  ///< Of whoever runs it.
};

/// `input` has its id and time. Fails: as AgentSession::run.
[[nodiscard]] Result<TurnReport> run_turn(const TurnParts& parts, std::optional<Message> input);

}  // namespace perdure::loop
