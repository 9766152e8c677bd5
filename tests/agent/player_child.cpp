// An agent with a task (order.hpp, letter.hpp), that dies where it is told:
//
//   agent_player location=L socket=S folder=F desk=F [task=order|letter]
//                [write=N around=before|during|after]
//                [steps=FILE step=N signal=kill|stop along=1] [gate=G gated=TOOL] [ahead=MS] [wait=MS]
//                [budget=MICROS] [raise=MICROS] [unsynced=TOOL syncs=N] [unlucky=1]
//
// A write is one of the store's (kill_switch.hpp), a step one of steps.hpp: on the way to the
// world and back, the agent's own and its programs', and whatever an observer is told. Its clock
// is so far ahead of that of others; when it was stopped, its lease is over by its clock too. A
// budget is that of a session it begins, or what that is raised to. `unsynced` is a tool: once that
// has returned, the agent dies at the nth sync of the WAL, before it. `unlucky`: no second attempt of
// a call starts.
//
// Says at its end one of
//
//   done <writes> <steps>
//   waits <call>
//   budget <what is recorded>
//   failed …

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fmt/format.h>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <variant>
#include <vector>

#include "agent/bought_model.hpp"
#include "agent/bystander.hpp"
#include "agent/pairing.hpp"
#include "agent/steps.hpp"
#include "agent/task.hpp"
#include "agent/words.hpp"
#include "doubles/fake_clock.hpp"
#include "doubles/kill_switch.hpp"
#include "perdure/agent/agent.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/agent/tools.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/store.hpp"
#include "world/client.hpp"

namespace {

using namespace perdure;  // NOLINT(google-build-using-namespace): a program of its own.
using agents::Words;

constexpr Duration lease_time{30'000};

void say(const std::string& line) {
  const std::string text = line + "\n";
  if (write(STDOUT_FILENO, text.data(), text.size()) < 0) _exit(3);
}

int stop(const Error& error) {
  say(fmt::format("failed {}: {}", to_string(error.code), error.message));
  return 1;
}

agents::StepsSpec steps_of(const Words& words) {
  return {.file = words.text("steps"),
          .agent = getpid(),
          .at = words.number("step"),
          .signal = words.text("signal") == "stop" ? SIGSTOP : SIGKILL,
          .takes_along = words.number("along") == 1};
}

// Takes a step for all that it hears.
class Stepping final : public AgentObserver {
 public:
  using Heard = std::function<void(const AgentEvent& event)>;
  /// `heard` is called before the step.
  Stepping(std::function<void()> take, Heard heard)
      : take_(std::move(take)), heard_(std::move(heard)) {}
  void on_text(std::string_view /*piece*/) override { take_(); }
  void on_reasoning(std::string_view /*piece*/) override { take_(); }
  void on_call(const ToolCallBlock& /*call*/) override { take_(); }
  void on_event(const AgentEvent& event) override {
    heard_(event);
    take_();
  }

 private:
  std::function<void()> take_;
  Heard heard_;
};

void require_paired(const std::vector<Message>& conversation) {
  if (agents::is_paired(conversation)) return;
  say("failed: a conversation that no provider takes");
  _exit(1);
}

class Player {
 public:
  explicit Player(const Words& words)
      : words_(words),
        task_(agents::task_named(words.text("task"))),
        steps_(steps_of(words)),
        world_(words.text("socket"), [this](world::Moment) { take_step(); }),
        switch_(words.number("write"), moment_from(words.text("around")).value_or(Moment::during)) {
    clock_.advance(task_.ahead + Duration(static_cast<std::int64_t>(words.number("ahead"))));
  }

  int run() {
    auto store = switch_.open(words_.text("location"), {.clock = &clock_});
    if (!store) return stop(store.error());
    auto spec = spec_of();
    if (!spec) return stop(spec.error());
    auto agent = Agent::start(**store, *std::move(spec),
                              {.lease_time = lease_time, .renews_itself = false, .clock = &clock_});
    if (!agent) return stop(agent.error());
    if (task_.has_bystander) bystander_.emplace(**store, session_id());
    const auto report = play(**agent);
    if (!report) return stop(report.error());
    if (bystander_ && !bystander_->said()) return stop(bystander_->said().error());
    tell(*report);
    return 0;
  }

 private:
  void take_step() {
    if (steps_.take()) clock_.advance(lease_time);
  }

  [[nodiscard]] Result<AgentSpec> spec_of() {
    const auto here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    auto tools = task_.make_tools({.program = (here / "world_program").string(),
                                   .socket = words_.text("socket"),
                                   .steps = to_text(steps_.spec()),
                                   .programs = words_.text("folder") + "/programs",
                                   .state_folder = words_.text("folder") + "/state",
                                   .desk = words_.text("desk"),
                                   .gate = words_.text("gate"),
                                   .gated = words_.find("gated").value_or("pay"),
                                   .is_unlucky = words_.number("unlucky") == 1});
    if (!tools) return forward(tools);
    AgentSpec spec{.setup = {.system_prompt = "You run errands.", .model = "scripted"},
                   .tools = *std::move(tools)};
    spec.permissions = {.write = Permit::allow,
                        .network = Permit::allow,
                        .mutate = Permit::allow,
                        .tools = task_.rules};
    spec.prices.set("scripted", {.input = 1'000'000, .output = 1'000'000});
    spec.make_provider = [this](const Setup&) -> Result<std::unique_ptr<Provider>> {
      auto real = make_scripted(task_.script);
      if (!real) return forward(real);
      return std::make_unique<agents::BoughtModel>(*std::move(real), world_, require_paired);
    };
    return spec;
  }

  [[nodiscard]] static SessionId session_id() { return SessionId::parse("the-session").value(); }

  [[nodiscard]] Result<AgentSession> take_up(Agent& agent) const {
    const SessionId id = session_id();
    const Duration wait(static_cast<std::int64_t>(words_.number("wait")));
    auto resumed = agent.resume(id, {.wait = wait});
    if (resumed) return std::move(resumed->session);
    if (resumed.error().code != ErrorCode::not_found) return forward(resumed);
    const auto budget = static_cast<std::int64_t>(words_.number("budget"));
    return agent.begin({.id = id,
                        .budget_micros = budget > 0 ? budget : 1'000'000,
                        .input = user_says("A chair, please.")});
  }

  void hear(const AgentEvent& event) {
    const auto* returned = std::get_if<CallReturned>(&event);
    if (returned != nullptr && returned->tool == words_.text("unsynced")) {
      switch_.kill_at_wal_sync(words_.number("syncs"));
    }
    if (bystander_) bystander_->speak();
  }

  // Does what an agent waits for, by whoever can; false: nobody here can.
  Result<bool> help(Agent& agent, const Waiting& waiting) {
    if (waiting.what == Waiting::For::decision) return false;
    if (waiting.what == Waiting::For::approval) {
      if (!bystander_) return false;
      if (auto given = bystander_->approve(waiting.call); !given) return forward(given);
      return true;
    }
    const auto until = waiting.until.value_or(clock_.now() + Duration(1000));
    clock_.advance(std::max(until - clock_.now(), Duration(1)));
    if (auto renewed = agent.runtime().renew(); !renewed) return forward(renewed);
    return true;
  }

  // To the end of the turn, or until somebody has to decide. Waits for time by moving the clock.
  Result<TurnReport> play(Agent& agent) {
    auto session = take_up(agent);
    if (!session) return forward(session);
    if (const auto raised = static_cast<std::int64_t>(words_.number("raise")); raised > 0) {
      if (auto set = session->session().set_budget(raised, "the test", "to go on"); !set)
        return forward(set);
    }
    Stepping observer([this] { take_step(); }, [this](const AgentEvent& event) { hear(event); });
    for (;;) {
      // Never with input: a session that is there has its message, whenever its process died.
      auto report = session->run(std::nullopt, observer);
      recorded_ = session->session().state().budget.totals.recorded();
      if (!report || !report->waiting) return report;
      auto helped = help(agent, *report->waiting);
      if (!helped) return forward(helped);
      if (!*helped) return report;
    }
  }

  void tell(const TurnReport& report) const {
    if (report.stop == TurnStop::needs_attention) {
      say(fmt::format("waits {}", report.waiting->call));
    } else if (report.stop == TurnStop::completed && report.answer == task_.answer) {
      say(fmt::format("done {} {}", switch_.writes(), steps_.taken()));
    } else if (report.stop == TurnStop::budget) {
      say(fmt::format("budget {}", recorded_));
    } else {
      say(fmt::format("failed: it ended as {} with \"{}\"", to_string(report.stop), report.answer));
    }
  }

  const Words& words_;
  const agents::Task& task_;
  FakeClock clock_;
  agents::Steps steps_;
  WorldClient world_;
  KillSwitch switch_;
  std::optional<agents::Bystander> bystander_;
  std::int64_t recorded_ = 0;
};

}  // namespace

int main(int count, char** words) {
  const Words given(std::span(words, static_cast<std::size_t>(count)).subspan(1));
  return Player(given).run();
}
