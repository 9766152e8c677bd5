// The wrapped code holds the watch itself: a tool may outlive the agent's patience with it.

#include "loop/tool_watch.hpp"

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "perdure/agent/agent.hpp"
#include "perdure/agent/tools.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "runtime/api/session.hpp"
#include "text/wording.hpp"
#include "tools/check/checked_tool.hpp"

namespace perdure {

namespace {

// The lines of one run, until it has returned. They are told on a thread of their own, which begins
// with the first: a tool must not wait for whoever reads, and be late to stop.
class RunProgress {
 public:
  RunProgress(std::shared_ptr<ToolWatch> watch, SessionId session, Position call, std::string tool)
      : watch_(std::move(watch)),
        session_(std::move(session)),
        call_(call),
        tool_(std::move(tool)),
        lease_(OnBehalf::current()) {}

  void tell(std::string_view line) {
    const std::lock_guard lock(mutex_);
    if (is_over_ || left_ == 0) return;
    --left_;
    lines_.emplace_back(utf8_prefix(line, progress_line_bytes_max));
    if (!teller_.joinable()) begin();
    changed_.notify_one();
  }
  /// What was told before comes before this returns.
  void end() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    changed_.notify_one();
    if (teller_.joinable()) teller_.join();
  }

 private:
  // Without room for a thread nobody hears of it, and the tool goes on.
  void begin() {
    try {
      teller_ = std::thread([this] { tell_all(); });
    } catch (const std::system_error&) {
      left_ = 0;
    }
  }

  void tell_all() {
    std::optional<OnBehalf> on_behalf;
    if (lease_) on_behalf.emplace(*lease_);
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return is_over_ || !lines_.empty(); });
      if (lines_.empty()) return;
      const std::string line = std::move(lines_.front());
      lines_.pop_front();
      lock.unlock();
      watch_->tell(session_,
                   [&](AgentObserver& observer) { observer.on_progress({call_, tool_, line}); });
      lock.lock();
    }
  }

  const std::shared_ptr<ToolWatch> watch_;
  const SessionId session_;
  const Position call_;
  const std::string tool_;
  const std::optional<Lease> lease_;  ///< Of the thread that runs the tool.
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> lines_;  ///< No more than may be told at all.
  std::size_t left_ = progress_lines_max;
  bool is_over_ = false;
  std::thread teller_;  ///< Ended by end().
};

ToolOutcome run_watched(const std::shared_ptr<ToolWatch>& watch, const Tool& tool,
                        const CallContext& call) {
  watch->tell_event(call.session, CallStarted{call.call, tool.name, call.attempt});
  // Shared with the tool, which may keep it beyond its return.
  const auto progress = std::make_shared<RunProgress>(watch, call.session, call.call, tool.name);
  CallContext watched_call = call;
  watched_call.progress = ToolProgress([progress](std::string_view line) { progress->tell(line); });
  try {
    ToolOutcome outcome = tool.run(watched_call);
    progress->end();
    watch->tell_event(call.session, CallReturned{call.call, tool.name});
    return outcome;
  } catch (...) {
    progress->end();
    throw;
  }
}

}  // namespace

void AgentObserver::on_event(const AgentEvent& /*event*/) {}
void AgentObserver::on_progress(const CallProgress& /*progress*/) {}

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
      tool.run = [watch, inner = tool](const CallContext& call) {
        return run_watched(watch, inner, call);
      };
    }
    tools.push_back(std::move(tool));
  }
  return Tools::of(std::move(tools));
}

}  // namespace perdure
