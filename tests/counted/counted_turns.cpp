// Every call has arguments of its own, so that none is the replay of another.

#include "counted/counted_turns.hpp"

#include <fmt/format.h>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "doubles/must.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"

namespace perdure {
namespace {

Tool tool(std::string name, SideEffects effects, Repeat repeat = Repeat::each_call) {
  Tool made{.name = std::move(name), .side_effects = effects, .repeat = repeat};
  made.run = [](const CallContext&) -> ToolOutcome {
    return Succeeded{.content = std::string(500, 'r')};
  };
  return made;
}

Tools tools() {
  const SideEffects reads{.read = true};
  const SideEffects acts{.mutate = true};
  Tool lose = tool("lose", acts);
  lose.run = [](const CallContext&) -> ToolOutcome { return Doubtful{"connection lost"}; };
  return must(Tools::of({tool("look", reads), tool("look_once", reads, Repeat::once_per_session),
                         tool("pay", acts), tool("pay_once", acts, Repeat::once_per_session),
                         std::move(lose)}));
}

}  // namespace

CountedTurns::CountedTurns(Policy policy)
    : runtime(must(Runtime::start(counted.store(), {.host = "here",
                                                    .pid = 7,
                                                    .renews_itself = false,
                                                    .tools = tools(),
                                                    .policy = std::move(policy),
                                                    .clock = &clock}))),
      session(must(runtime->create())) {}

Message CountedTurns::response_with(const Calls& calls) {
  Message message{.role = Role::assistant};
  for (const std::string& name : calls) {
    ++asked_;
    message.blocks.emplace_back(ToolCallBlock{.id = fmt::format("c{}", asked_),
                                              .name = name,
                                              .args = fmt::format(R"({{"n":{}}})", asked_)});
  }
  return message;
}

void CountedTurns::ask_for(const Calls& calls) {
  must(session->record_response(response_with(calls), {}, {.next_request = RequestSpec{}}));
}

void CountedTurns::end_turn() {
  must(session->record_response(
      {.role = Role::assistant, .blocks = {TextBlock{.text = std::string(900, 'a')}}}));
}

void CountedTurns::take_turn(const std::vector<Calls>& responses) {
  must(session->record_request({}, user_says(std::string(500, 'u'))));
  for (const Calls& calls : responses) {
    ask_for(calls);
    must(session->run_calls());
    must(session->record_request());
  }
  end_turn();
}

RecoveryReport CountedTurns::resume() {
  const SessionId id = session->id();
  session.reset();
  auto resumed = must(runtime->resume(id));
  session = std::move(resumed.session);
  return resumed.report;
}

void CountedTurns::begin_another() {
  session.reset();
  session = must(runtime->create());
}

}  // namespace perdure
