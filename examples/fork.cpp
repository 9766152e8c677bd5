// A fork with a changed prompt. It shares everything up to a version with the session it comes from,
// and continues separately from there. Effects of that session after this point are not undone; they
// are listed first, because the fork may repeat them.
//
//   perdure_fork

#include <iostream>
#include <string>

#include <perdure/runtime/runtime.hpp>
#include <perdure/store/store.hpp>

using namespace perdure;

namespace {

ToolOutcome send(const CallContext& call) {
  std::cout << "sending " << call.args.text() << '\n';
  return Succeeded{"sent"};
}

/// A scripted model: it writes in the style that its prompt asks for.
Message write_email(const State& state) {
  const bool is_formal = state.setup->system_prompt == "Be formal.";
  const Json args(Json::Object{{"text", is_formal ? "Dear Ms Lee" : "Hi Ann"}});
  return {.role = Role::assistant,
          .blocks = {ToolCallBlock{.id = "call_1", .name = "send_email", .args = args.text()}}};
}

void run_turn(Session& session) {
  session.record_request({}, user_says("Write to Ann Lee.")).value();
  session.record_response(write_email(session.state())).value();
  session.run_calls().value();
  session.record_request().value();
  session.record_response(assistant_says("Done.")).value();
}

void show(const char* name, const Session& session) {
  std::cout << name << ": \"" << session.state().setup->system_prompt << "\", "
            << session.state().transcript.size() << " messages\n";
}

}  // namespace

int main() {
  const Tool email{.name = "send_email",
                   .side_effects = SideEffects{.network = true, .mutate = true},
                   .run = send};
  const auto store = open_store("memory:").value();
  const auto runtime = Runtime::start(*store, {.tools = Tools::of({email}).value()}).value();

  auto session = runtime->create({.setup = Setup{.system_prompt = "Be brief."}}).value();
  const Version before = session.checkpoint({.reason = "before the email"}).value();
  run_turn(session);

  const Forked forked = runtime->fork(session.id(), Point::version(before)).value();
  for (const Call& call : forked.effects_after) {
    std::cout << "after this point: " << call.tool << " (" << to_string(call.state) << ")\n";
  }
  auto fork = runtime->open(forked.id).value();
  fork.set(Setup{.system_prompt = "Be formal."}).value();
  run_turn(fork);

  show("the session", session);
  show("its fork", fork);
}
