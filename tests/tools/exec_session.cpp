// A process with one session and one program as its tool: exec_session FOLDER. Its test kills it
// while the program runs, and starts it again.
//
// The program tells the fifo `started` its process, waits for a line of `go`, and leaves its key in
// `bank`. Verify looks for the key there.

#include <iostream>
#include <string>

#include "doubles/must.hpp"
#include "perdure/agent/tools.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/store/store.hpp"

using namespace perdure;  // NOLINT: a small program.

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::string folder = argv[1];
  ExecSpec exec{
      .command = {"sh", "-c",
                  "echo $$ > started; read go < go; echo $PERDURE_KEY >> bank; echo paid"},
      .verify = {"sh", "-c", "grep -q $PERDURE_KEY bank && echo found || exit 75"},
      .folder = folder,
      .state_folder = folder + "/state"};
  exec.spec.tool.name = "pay";
  exec.spec.tool.side_effects = SideEffects{.write = true};
  const auto tool = must(make_exec_tool(exec));
  const auto store = must(open_store(folder + "/store.db"));
  const auto runtime = must(Runtime::start(*store, {.tools = must(Tools::of({tool.tool}))}));
  const auto id = must(SessionId::parse("s"));
  (void)runtime->create({.id = id});
  auto [session, report] = must(runtime->resume(id));
  if (session.state().transcript.empty()) {
    must(session.record_request({}, user_says("Pay.")));
    must(session.record_response(
        {.role = Role::assistant, .blocks = {ToolCallBlock{.id = "c", .name = "pay"}}}));
    must(session.run_calls());
  }
  for (const auto& call : must(store->ledger().list({.session = id}))) {
    std::cout << call.tool << " " << to_string(call.state) << " " << call.attempts << std::endl;
  }
  return 0;
}
