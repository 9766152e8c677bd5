// A process with one session and a program that honours its key: paying_session FOLDER LATER. Its test
// kills it in the middle of the first attempt, and starts it again; LATER says what then befalls it:
// `descriptors`, there are none when the program is to be started again; `time`, its time is over at once;
// else nothing. Its model asks again whenever it is told that the call has failed.
//
// What the program does is in the file `pay`, which is the test's.

#include <algorithm>
#include <iostream>
#include <string>
#include <sys/resource.h>

#include "doubles/must.hpp"
#include "perdure/agent/tools.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/store.hpp"

using namespace perdure;  // NOLINT: a small program.

namespace {

// The three that every program has are taken already.
class NoDescriptors {
 public:
  NoDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit none{.rlim_cur = 3, .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit before_{};
};

Tool make_tool(const std::string& folder, const std::string& later) {
  ExecSpec exec{.command = {folder + "/pay"},
                .folder = folder,
                .state_folder = folder + "/state",
                .grace = Duration(1)};
  exec.spec.tool.name = "pay";
  exec.spec.tool.side_effects = SideEffects{.write = true, .mutate = true};
  exec.spec.tool.honours_key = true;
  exec.spec.tool.repeat = Repeat::once_per_session;
  if (later == "time") exec.spec.tool.timeout = Duration(1);
  Tool tool = must(make_exec_tool(exec)).tool;
  if (later != "descriptors") return tool;
  tool.run = [run = tool.run](const CallContext& call) {
    if (call.attempt == 1) return run(call);
    const NoDescriptors none;
    return run(call);
  };
  return tool;
}

Message asks_for_pay() {
  return {.role = Role::assistant, .blocks = {ToolCallBlock{.id = "c", .name = "pay"}}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string folder = argv[1];
  const auto store = must(open_store(folder + "/store.db"));
  const auto runtime =
      must(Runtime::start(*store, {.tools = must(Tools::of({make_tool(folder, argv[2])}))}));
  const auto id = must(SessionId::parse("s"));
  (void)runtime->create({.id = id});
  auto [session, report] = must(runtime->resume(id));
  bool asks = session.state().transcript.empty();
  for (int times = 0; times < 3; ++times) {
    if (asks) {
      must(session.record_request({}, user_says("Pay.")));
      must(session.record_response(asks_for_pay()));
    }
    if (must(session.run_calls()).waiting) break;
    asks = must(store->ledger().list({.session = id})).back().state == CallState::failed;
    if (!asks) break;
  }
  for (const auto& call : must(store->ledger().list({.session = id}))) {
    std::string why = call.why;
    std::ranges::replace(why, '\n', ' ');
    std::cout << to_string(call.state) << " " << call.attempts << " " << why << std::endl;
  }
  return 0;
}
