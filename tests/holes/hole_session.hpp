// A session with tools that count their runs, over every backend, whose process can go without
// a word: what the tests of the holes share. The numbers are those of docs/holes.md.

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
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/store.hpp"

namespace perdure {

[[nodiscard]] inline std::string backend_name(const testing::TestParamInfo<Backend>& backend) {
  return backend.param.name;
}

class HoleSession : public testing::TestWithParam<Backend> {
 protected:
  using Calls = std::vector<std::pair<std::string, std::string>>;  ///< Tool and arguments.

  HoleSession() { restart(); }

  Tool tool(std::string name, SideEffects effects = {.mutate = true}) {
    Tool made{.name = std::move(name), .side_effects = effects};
    made.run = [this, name = made.name](const CallContext& call) -> ToolOutcome {
      {
        const std::lock_guard lock(mutex);
        ++counts[name];
      }
      const auto behave = behaviour.find(name);
      if (behave != behaviour.end()) return behave->second(call);
      return Succeeded{.content = name + " done"};
    };
    return made;
  }
  int runs(const std::string& name) {
    const std::lock_guard lock(mutex);
    return counts[name];
  }

  std::unique_ptr<Runtime> start() {
    return must(Runtime::start(*store, {.host = "here",
                                        .pid = 7,
                                        .renews_itself = false,
                                        .tools = must(Tools::of(tools)),
                                        .policy = policy,
                                        .clock = &clock,
                                        .ids = &ids}));
  }

  /// Another process comes: the old one is gone, whatever it was at.
  void restart() {
    session.reset();
    runtime.reset();
    if (store == nullptr || GetParam().survives()) {
      store.reset();
      store = must(open_store(home.location(), {.clock = &clock, .ids = &ids}));
    }
    runtime = start();
  }
  RecoveryReport restart_and_resume() {
    restart();
    auto resumed = must(runtime->resume(id));
    session = std::move(resumed.session);
    return resumed.report;
  }

  void begin(std::vector<Tool> with, Policy how = {}, const SessionSpec& spec = {}) {
    tools = std::move(with);
    policy = std::move(how);
    restart();
    session = must(runtime->create(spec));
    id = session->id();
  }

  /// Every call under the same provider's id, as some providers do it.
  static Message asks_for(const Calls& calls) {
    Message message{.role = Role::assistant};
    for (const auto& [name, args] : calls) {
      message.blocks.emplace_back(ToolCallBlock{.id = "call_0", .name = name, .args = args});
    }
    return message;
  }
  void request(const Calls& calls) {
    must(session->record_request({}, user_says("go")));
    must(session->record_response(asks_for(calls)));
  }
  CallsReport turn(const Calls& calls) {
    request(calls);
    return must(session->run_calls());
  }

  std::string last_result() {
    const Message& message = session->state().transcript.back().message;
    return std::get<ToolResultBlock>(message.blocks.at(0)).content;
  }
  std::vector<Call> ledger() { return must(store->ledger().list({.session = id})); }

  template <class T>
  static std::optional<ErrorCode> code_of(const Result<T>& result) {
    if (result) return std::nullopt;
    return result.error().code;
  }

  // A session waits at its end for attempts, which use all that stands before it.
  std::mutex mutex;
  std::map<std::string, int> counts;
  StorePlace home{GetParam()};
  FakeClock clock;
  CountingIds ids;
  std::map<std::string, std::function<ToolOutcome(const CallContext&)>> behaviour;
  std::vector<Tool> tools;
  Policy policy;
  std::unique_ptr<Store> store;
  std::unique_ptr<Runtime> runtime;
  std::optional<Session> session;
  SessionId id;
};

}  // namespace perdure
