// An agent in a test: a scripted model, tools that count their runs, a store in memory. Another
// process is another agent on the same store.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "doubles/counting_ids.hpp"
#include "doubles/fake_clock.hpp"
#include "doubles/must.hpp"
#include "perdure/agent/agent.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/agent/tools.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"

namespace perdure {

class Listener final : public AgentObserver {
 public:
  void on_text(std::string_view piece) override {
    text += piece;
    if (on_piece) on_piece();
  }
  void on_event(const AgentEvent& event) override {
    events.push_back(event);
    if (on_each) on_each(event);
  }
  void on_progress(const CallProgress& progress) override {
    lines.push_back({std::string(progress.tool), std::string(progress.line), events.size()});
    if (on_line) on_line();
  }
  template <class Event>
  [[nodiscard]] std::vector<Event> all() const {
    std::vector<Event> found;
    for (const AgentEvent& event : events) {
      if (const auto* wanted = std::get_if<Event>(&event)) found.push_back(*wanted);
    }
    return found;
  }

  struct Line {
    std::string tool;
    std::string line;
    std::size_t after = 0;  ///< So many events.
  };

  std::string text;
  std::vector<AgentEvent> events;
  std::vector<Line> lines;
  std::function<void(const AgentEvent&)> on_each;
  std::function<void()> on_piece;
  std::function<void()> on_line;
};

class LoopTest : public testing::Test {
 protected:
  using Behaviour = std::function<ToolOutcome(const CallContext&)>;

  /// A store in memory stays the same object; another is opened again by every process.
  explicit LoopTest(std::string location = "memory:") : location_(std::move(location)) {
    open();
    // A micro for a token.
    spec.prices.set("m", {.input = 1'000'000, .output = 1'000'000});
    spec.setup = {.system_prompt = "Be brief.", .model = "m"};
    spec.permissions = {.write = Permit::allow,
                        .network = Permit::allow,
                        .mutate = Permit::allow,
                        .undeclared = Permit::allow};
    add_tool("look", {.read = true});
    add_tool("pay", {.mutate = true});
  }

  void add_tool(const std::string& name, SideEffects effects) {
    Tool tool{.name = name, .side_effects = effects};
    tool.input_schema = R"({"type": "object", "properties": {"n": {"type": "integer"}}})";
    tool.run = [this, name](const CallContext& call) -> ToolOutcome {
      Behaviour behave;
      {
        const std::lock_guard lock(mutex_);
        ++runs[name];
        if (behaviour.contains(name)) behave = behaviour[name];
      }
      return behave ? behave(call) : Succeeded{.content = name + " done"};
    };
    tools.push_back({.tool = std::move(tool)});
  }

  /// The responses, as make_scripted reads them.
  void script(const std::string& responses) { script_ = R"({"responses": [)" + responses + "]}"; }

  /// Another process: what it has of its own is gone. It takes the session up.
  void restart() {
    start();
    if (id) session = std::move(must(agent->resume(*id)).session);
  }

  /// Another process, which has no session yet.
  void start() {
    session.reset();
    agent.reset();
    if (location_ != "memory:") open();
    spec.tools = must(Toolbox::of(tools));
    if (!spec.make_provider) {
      spec.make_provider = [this](const perdure::Setup&) { return make_scripted(script_); };
    }
    agent = must(Agent::start(
        *store, spec,
        {.host = "here", .pid = 7, .renews_itself = false, .clock = &clock, .ids = &ids}));
  }

  void begin(std::optional<std::int64_t> budget = {}) {
    restart();
    session = must(agent->begin({.budget_micros = budget}));
    id = session->session().id();
  }

  Result<TurnReport> try_run(std::optional<std::string> input, const std::stop_token& stop = {}) {
    auto message = input ? std::optional(user_says(*input)) : std::nullopt;
    return session->run(std::move(message), heard, stop);
  }
  TurnReport run(std::optional<std::string> input, const std::stop_token& stop = {}) {
    return must(try_run(std::move(input), stop));
  }
  TurnReport go_on() { return run(std::nullopt); }

  [[nodiscard]] const State& state() const { return session->session().state(); }
  [[nodiscard]] SessionSummary row() const { return must(store->sessions().read(*id)); }
  [[nodiscard]] std::vector<Call> calls() const {
    return must(store->ledger().list({.session = id}));
  }
  /// What the model was told of its calls.
  [[nodiscard]] std::vector<std::string> results() const {
    std::vector<std::string> found;
    for (const Message& message : provider_messages(state())) {
      for (const Block& block : message.blocks) {
        if (const auto* result = std::get_if<ToolResultBlock>(&block)) {
          found.push_back(result->content);
        }
      }
    }
    return found;
  }

  FakeClock clock;
  CountingIds ids;
  AgentSpec spec;
  std::vector<ToolSpec> tools;
  std::map<std::string, int> runs;
  std::map<std::string, Behaviour> behaviour;
  std::unique_ptr<Store> store;
  std::unique_ptr<Agent> agent;
  std::optional<AgentSession> session;
  std::optional<SessionId> id;
  Listener heard;

 private:
  void open() {
    store.reset();
    store = must(open_store(location_, {.clock = &clock, .ids = &ids}));
  }

  const std::string location_;
  std::mutex mutex_;
  std::string script_ = R"({"responses": []})";
};

/// A response that asks for calls of these tools, each with its own number.
[[nodiscard]] inline std::string asking_for(const std::vector<std::string>& names, int first = 1) {
  std::string calls;
  for (const std::string& name : names) {
    const std::string number = std::to_string(first++);
    if (!calls.empty()) calls += ", ";
    calls += R"({"name": ")" + name + R"(", "args": {"n": )" + number + "}}";
  }
  return R"({"calls": [)" + calls + R"(], "usage": {"in": 10, "out": 5}})";
}

[[nodiscard]] inline std::string saying(const std::string& text) {
  return R"({"text": ")" + text + R"(", "usage": {"in": 10, "out": 5}})";
}

}  // namespace perdure
