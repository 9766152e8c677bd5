// Turns with calls, over every backend, in a test: a model's part is played by hand, tools count
// their runs. A crash is a runtime that ends without notice: its store object closes with its
// worker enrolled.

#pragma once

#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "contract/backends.hpp"
#include "doubles/counting_ids.hpp"
#include "doubles/fake_clock.hpp"
#include "doubles/must.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/store.hpp"

namespace perdure {

/// A response that asks for calls: a tool and its arguments each.
[[nodiscard]] inline Message asks_for(
    const std::vector<std::pair<std::string, std::string>>& calls) {
  Message message{.role = Role::assistant};
  int number = 0;
  for (const auto& [tool, args] : calls) {
    message.blocks.emplace_back(
        ToolCallBlock{.id = "c" + std::to_string(++number), .name = tool, .args = args});
  }
  return message;
}

class TurnsTest : public testing::TestWithParam<Backend> {
 protected:
  TurnsTest() { restart(); }

  Tool tool(std::string name, SideEffects effects = {.mutate = true}) {
    Tool made{.name = std::move(name), .side_effects = effects};
    made.run = [this, name = made.name](const CallContext& call) -> ToolOutcome {
      note_run(name, call.key);
      const auto behave = behaviour.find(name);
      if (behave != behaviour.end()) return behave->second(call);
      return Succeeded{.content = name + " done"};
    };
    return made;
  }

  // Reads run at the same time.
  void note_run(const std::string& name, const std::string& key) {
    const std::scoped_lock lock(notes);
    ++runs[name];
    keys[name].push_back(key);
  }

  /// Another process takes over: the old one is gone without notice.
  void restart(Policy policy = {}) {
    session.reset();
    runtime.reset();
    if (store == nullptr || GetParam().survives()) {
      store.reset();
      store = must(open_store(home.location(), {.clock = &clock, .ids = &ids}));
    }
    runtime = must(Runtime::start(*store, {.host = "here",
                                           .pid = 7,
                                           .renews_itself = false,
                                           .tools = must(Tools::of(tools)),
                                           .policy = std::move(policy),
                                           .clock = &clock,
                                           .ids = &ids}));
  }

  void begin(std::vector<Tool> with, Policy policy = {}) {
    tools = std::move(with);
    restart(std::move(policy));
    session = must(runtime->create());
    id = session->id();
    must(session->record_request({}, user_says("go")));
  }

  std::string result_of(std::size_t message, std::size_t block = 0) {
    const auto history = provider_messages(session->state());
    return std::get<ToolResultBlock>(history.at(message).blocks.at(block)).content;
  }

  CallState state_of(Position call) { return must(store->ledger().read(id, call)).state; }
  Position first_call() { return must(store->ledger().list({.session = id})).front().position; }

  StorePlace home{GetParam()};
  FakeClock clock;
  CountingIds ids;
  std::mutex notes;
  std::map<std::string, int> runs;
  std::map<std::string, std::vector<std::string>> keys;
  std::map<std::string, std::function<ToolOutcome(const CallContext&)>> behaviour;
  std::vector<Tool> tools;
  std::unique_ptr<Store> store;
  std::unique_ptr<Runtime> runtime;
  std::optional<Session> session;
  SessionId id;
};

}  // namespace perdure
