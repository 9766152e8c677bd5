// The wrapped code holds the watch itself: a tool may outlive the agent's patience with it.

#include "loop/tool_watch.hpp"

#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "perdure/agent/agent_observer.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/agent/toolbox.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/message.hpp"
#include "perdure/runtime/tool.hpp"

namespace perdure {

void AgentObserver::on_event(const AgentEvent& /*event*/) {}

void ToolWatch::attach(const SessionId& session, AgentObserver& observer) {
  auto watched = std::make_shared<Watched>();
  watched->observer = &observer;
  const std::lock_guard lock(mutex_);
  sessions_.insert_or_assign(session.text(), std::move(watched));
}

void ToolWatch::detach(const SessionId& session) {
  const auto watched = find(session);
  if (watched == nullptr) return;
  {
    const std::lock_guard lock(mutex_);
    sessions_.erase(session.text());
  }
  const std::lock_guard lock(watched->mutex);
  watched->observer = nullptr;
}

std::shared_ptr<ToolWatch::Watched> ToolWatch::find(const SessionId& session) {
  const std::lock_guard lock(mutex_);
  const auto found = sessions_.find(session.text());
  return found == sessions_.end() ? nullptr : found->second;
}

Result<Tools> watched(const Toolbox& toolbox, const std::shared_ptr<ToolWatch>& watch) {
  std::vector<Tool> tools;
  for (const std::string_view name : toolbox.names()) {
    Tool tool = toolbox.find(name)->spec.tool;
    if (tool.run) {
      tool.run = [watch, name = tool.name, run = tool.run](const CallContext& call) {
        watch->tell_event(call.session, CallStarted{call.call, name, call.attempt});
        ToolOutcome outcome = run(call);
        watch->tell_event(call.session, CallReturned{call.call, name});
        return outcome;
      };
    }
    tools.push_back(std::move(tool));
  }
  return Tools::of(std::move(tools));
}

void StreamRelay::on_text(std::string_view piece) {
  watch_.tell(session_, [&](AgentObserver& observer) { observer.on_text(piece); });
}
void StreamRelay::on_reasoning(std::string_view piece) {
  watch_.tell(session_, [&](AgentObserver& observer) { observer.on_reasoning(piece); });
}
void StreamRelay::on_call(const ToolCallBlock& call) {
  watch_.tell(session_, [&](AgentObserver& observer) { observer.on_call(call); });
}
void StreamRelay::on_retry(const RetryNotice& notice) {
  watch_.tell(session_, [&](AgentObserver& observer) { observer.on_retry(notice); });
}

}  // namespace perdure
