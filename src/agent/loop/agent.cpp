// Where the parts meet: the runtime gets the checks and the watched tools, a session its provider.

#include "perdure/agent/agent.hpp"

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "agent/api/agent.hpp"
#include "core/api/guarded.hpp"
#include "core/api/own_process.hpp"
#include "core/api/wording.hpp"
#include "loop/turn.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/agent/tools.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/read.hpp"
#include "runtime/api/session.hpp"
#include "runtime/api/state_details.hpp"
#include "tools/check/paths.hpp"

namespace perdure {

namespace {

// The lines of one run, until it has returned. They are reported on a thread of their own, started
// with the first: a tool must not wait for a reader, and be late to stop.
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
  // If no thread can be started, progress is not reported, and the tool continues.
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

namespace {

// For as long as a turn runs.
class Attached {
 public:
  Attached(ToolWatch& watch, const SessionId& session, AgentObserver& observer)
      : watch_(watch), session_(session) {
    watch_.attach(session_, observer);
  }
  ~Attached() { watch_.detach(session_); }
  Attached(const Attached&) = delete;
  Attached& operator=(const Attached&) = delete;

 private:
  ToolWatch& watch_;
  const SessionId session_;
};

class Lambdas final : public AgentObserver {
 public:
  explicit Lambdas(const ObserveWith& with) : with_(with) {}

  void on_text(std::string_view piece) override { tell(with_.on_text, piece); }
  void on_reasoning(std::string_view piece) override { tell(with_.on_reasoning, piece); }
  void on_call(const ToolCallBlock& call) override { tell(with_.on_call, call); }
  void on_retry(const RetryNotice& notice) override { tell(with_.on_retry, notice); }
  void on_event(const AgentEvent& event) override { tell(with_.on_event, event); }
  void on_progress(const CallProgress& progress) override { tell(with_.on_progress, progress); }

 private:
  template <class Function, class What>
  static void tell(const Function& function, const What& what) {
    if (function) function(what);
  }

  const ObserveWith& with_;
};

Result<void> check_whole(Store& store, const SessionId& id, const State& state) {
  auto damage = find_damage(store, id, state);
  if (!damage) return forward(damage);
  if (damage->empty()) return {};
  return fail(ErrorCode::corrupted,
              fmt::format("session {} is damaged at {} {}: the model would be asked without what "
                          "was there",
                          id.text(), damage->size() == 1 ? "position" : "positions",
                          fmt::join(*damage, ", ")),
              "damage");
}

// Whether a session may continue under an agent that has changed since: the parts that did; empty:
// it is the same agent, or none is known. A file that says `refuse` is not overruled by a person
// who resumes: its author is. Fails: as Agent::resume, if they may not.
Result<std::vector<std::string>> agreed_changes(const AgentSpec& spec, const Origin& origin,
                                                const ResumeOptions& options) {
  if (spec.digest.empty()) return {};
  std::vector<std::string> changed = changed_parts(origin.agent_digest, spec.digest);
  if (changed.empty() || spec.on_change == OnChange::go_on) return changed;
  const std::string what =
      fmt::format("the agent has changed since the session began: {}", fmt::join(changed, ", "));
  if (spec.on_change == OnChange::refuse) {
    return fail(ErrorCode::conflict,
                what + "; this agent file (on_change: refuse) resumes only sessions of its own",
                "agent_refused");
  }
  if (!options.accepted_by.empty()) return changed;
  return fail(ErrorCode::conflict, what + "; accept the changes to resume", "agent_changed");
}

// The same before the session is taken over, as far as can be said without its lease.
Result<void> check_agreed(Store& store, const SessionId& id, const AgentSpec& spec,
                          const ResumeOptions& options) {
  if (spec.digest.empty()) return {};
  auto is_ours = is_of(store, id, spec.digest);
  if (!is_ours) return forward(is_ours);
  if (*is_ours) return {};
  auto before = origin_of(store, id);
  if (!before) return forward(before);
  auto agreed = agreed_changes(spec, before->value_or(Origin{}), options);
  if (*before && !agreed) return forward(agreed);
  return {};
}

}  // namespace

Policy policy_of(const AgentSpec& spec) {
  return {.on_doubt = spec.on_doubt,
          .permit =
              [&spec](const State& state, const ProposedCall& call) {
                return permit_call(spec.tools, spec.permissions, state, call);
              },
          .cadence = spec.cadence};
}

struct AgentSession::Held {
  const AgentSpec& spec;
  std::shared_ptr<const AgentServices> services{};
  std::unique_ptr<Conversation> conversation{};  ///< From the first run on.
};

AgentSession::AgentSession(Session session, Held held)
    : session_(std::move(session)),
      held_(of_own_process(std::make_unique<Held>(std::move(held)))) {}

Result<TurnReport> AgentSession::run(std::optional<Message> input, AgentObserver& observer,
                                     const std::stop_token& stop) {
  if (auto here = check_own_process(held_); !here) return forward(here);
  const AgentSpec& spec = held_->spec;
  const AgentServices& services = *held_->services;
  const OnBehalf on_behalf(session_.lease());
  if (!session_.state().setup) {
    if (auto set = session_.set(spec.setup); !set) return forward(set);
  }
  if (held_->conversation == nullptr) {
    auto provider = guarded("the agent's `make_provider`",
                            [&] { return spec.make_provider(*session_.state().setup); });
    if (!provider) return forward(provider);
    if (*provider == nullptr) {
      return fail(ErrorCode::invalid_argument,
                  "the agent's `make_provider` returned no provider: return one, or an error");
    }
    held_->conversation = std::make_unique<Conversation>(*std::move(provider));
  }
  if (input) {
    // Before it is sent for the first time: it must not change by being recorded.
    if (input->id.empty()) input->id = mint<MessageTag>(services.sources.ids).text();
    if (input->created_at == Timestamp{}) input->created_at = services.sources.clock.now();
  }
  const Attached attached(*services.watch, session_.id(), observer);
  auto report = loop::run_turn({.spec = spec,
                                .services = services,
                                .session = session_,
                                .conversation = *held_->conversation,
                                .stop = stop},
                               std::move(input));
  if (spec.scratchpad_folder.empty()) return report;
  // The log has the notes; a failure to write them as files too does not fail the run.
  auto written = write_scratch_folder(session_, spec.scratchpad_folder);
  if (report) report->scratchpad_problem = written ? *std::move(written) : written.error().message;
  return report;
}

Result<TurnReport> AgentSession::run(std::optional<Message> input, const ObserveWith& observe,
                                     const std::stop_token& stop) {
  Lambdas observer(observe);
  return run(std::move(input), observer, stop);
}

struct Agent::Parts {
  std::unique_ptr<const AgentSpec> spec{};  // At one place: policy and sessions refer to it.
  std::shared_ptr<const AgentServices> services{};
  std::unique_ptr<Runtime> runtime{};
};

Agent::Agent(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Agent::~Agent() = default;

Runtime& Agent::runtime() { return *parts_->runtime; }

Result<std::unique_ptr<Agent>> Agent::start(Store& store, AgentSpec spec, RuntimeOptions options) {
  if (!spec.make_provider) {
    return fail(ErrorCode::invalid_argument, "an agent needs a way to make its provider");
  }
  const auto services = std::make_shared<const AgentServices>(store, options);
  options.clock = &services->sources.clock;
  options.ids = &services->sources.ids;
  auto tools = watched(spec.tools, services->watch);
  if (!tools) return forward(tools);
  spec.setup.tools = spec.tools.definitions();
  auto kept = std::make_unique<const AgentSpec>(std::move(spec));
  options.tools = *std::move(tools);
  options.policy = policy_of(*kept);
  auto runtime = Runtime::start(store, options);
  if (!runtime) return forward(runtime);
  auto parts = std::make_unique<Parts>(std::move(kept), services, *std::move(runtime));
  return std::unique_ptr<Agent>(new Agent(std::move(parts)));
}

Result<AgentSession> Agent::begin(SessionSpec session) {
  if (!session.setup) session.setup = parts_->spec->setup;
  if (!session.budget_micros) session.budget_micros = parts_->spec->budget_micros;
  if (session.agent_digest.empty()) session.agent_digest = parts_->spec->digest;
  auto begun = parts_->runtime->create(session);
  if (!begun) return forward(begun);
  return AgentSession(*std::move(begun), {.spec = *parts_->spec, .services = parts_->services});
}

Result<ResumedAgent> Agent::resume(const SessionId& id, const ResumeOptions& options) {
  // Without its lease: who is refused must not have taken it from anybody.
  if (auto agreed = check_agreed(parts_->services->store, id, *parts_->spec, options); !agreed)
    return forward(agreed);
  std::vector<std::string> changed;
  // Its state now that no other process can change it.
  const auto prepare = [&](Session& session) -> Result<void> {
    if (!options.accepts_damage) {
      auto whole = check_whole(parts_->services->store, session.id(), session.state());
      if (!whole) return whole;
    }
    auto agreed = agreed_changes(*parts_->spec, *session.state().details->origin, options);
    if (!agreed) return forward(agreed);
    changed = *std::move(agreed);
    if (changed.empty()) return {};
    return set_agent(
        session,
        {.agent_digest = parts_->spec->digest, .parts = changed, .who = options.accepted_by},
        parts_->spec->setup);
  };
  auto resumed = parts_->runtime->resume(
      id, {.wait = options.wait, .stop = options.stop, .runs_calls = false, .prepare = prepare});
  if (!resumed) return forward(resumed);
  Result<std::string> problem;
  if (!parts_->spec->scratchpad_folder.empty()) {
    problem = read_scratch_folder(resumed->session, parts_->spec->scratchpad_folder);
  }
  if (!problem) return forward(problem);
  return ResumedAgent{AgentSession(std::move(resumed->session),
                                   {.spec = *parts_->spec, .services = parts_->services}),
                      std::move(resumed->report), std::move(changed), *std::move(problem)};
}

}  // namespace perdure
