// An agent over a real provider, as a command line would run it:
//
//   agent_talker location=L folder=F url=U format=anthropic|chat | script=FILE
//                [say=TEXT] [key=environment|file] [holds=1] [agent=FILE] [model=NAME]
//
// With `agent` its tools and rules are those of an agent file; the model is still the one of the
// other words. With `model` a session goes on with that one, whatever it was begun with.
//
// It tells all that an observer hears, and errors, on its output. SIGINT stops the turn. The key is
// in the variable TALKER_KEY, or in the file `key` of the folder; the secret of its tools in
// TALKER_SECRET. With `holds` it waits for a line before it ends.
//
// Its tools are programs in that folder: `weather` says "runs" to the pipe `started`, if there is
// one, and waits for a line of `go`; then it leaves a line in `book`. `shout` repeats all it was
// given.

#include <csignal>
#include <cstddef>
#include <fmt/format.h>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <pthread.h>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <unistd.h>
#include <utility>
#include <variant>
#include <vector>

#include "agent/api/agent_file.hpp"
#include "agent/words.hpp"
#include "perdure/agent/agent.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/agent/tools.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/store.hpp"

namespace {

using namespace perdure;  // NOLINT(google-build-using-namespace): a program of its own.
using agents::Words;

void say(const std::string& line) {
  const std::string text = line + "\n";
  if (write(STDOUT_FILENO, text.data(), text.size()) < 0) _exit(3);
}

void say(std::string_view what, std::string_view text) {
  say(fmt::format("{} {}", what, Json(text).text()));
}

class Teller final : public AgentObserver {
 public:
  void on_text(std::string_view piece) override { say("text", piece); }
  void on_reasoning(std::string_view piece) override { say("reasoning", piece); }
  void on_call(const ToolCallBlock& call) override { say("call", call.name + call.args); }
  void on_retry(const RetryNotice& notice) override { say("retry", notice.why); }
  void on_event(const AgentEvent& event) override {
    if (const auto* told = std::get_if<CallTold>(&event)) say("told", told->result.content);
    if (const auto* waits = std::get_if<CallWaits>(&event)) say("waits", waits->waiting.why);
    if (const auto* failed = std::get_if<ModelFailed>(&event)) say("model", failed->why);
    if (const auto* ended = std::get_if<TurnEnded>(&event)) say("why", ended->why);
  }
};

// SIGINT asks a turn to stop.
class Interrupt {
 public:
  Interrupt() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGINT);
    sigaddset(&signals_, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
    thread_ = std::jthread([this] {
      int came = 0;
      sigwait(&signals_, &came);
      if (came == SIGINT) source_.request_stop();
    });
  }
  ~Interrupt() { pthread_kill(thread_.native_handle(), SIGUSR1); }
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  [[nodiscard]] std::stop_token token() const { return source_.get_token(); }

 private:
  sigset_t signals_{};
  std::stop_source source_;
  std::jthread thread_;
};

Result<ToolSpec> program(const std::string& folder, const std::string& name, ExecSpec exec) {
  exec.folder = folder;
  exec.state_folder = folder + "/state";
  exec.spec.tool.name = name;
  return make_exec_tool(std::move(exec));
}

Result<Toolbox> make_tools(const std::string& folder, const Environment& environment) {
  ExecSpec read{.command = {"sh", "-c", "cat"}};
  read.spec.tool.side_effects = SideEffects{.read = true};
  ExecSpec weather{.command = {"sh", "-c",
                               "if [ -p started ]; then echo runs > started; read go < go; fi; "
                               "echo $PERDURE_KEY >> book; echo sunny"},
                   .verify = {"sh", "-c", "grep -q $PERDURE_KEY book || exit 75; echo sunny"}};
  weather.spec.tool.side_effects = SideEffects{.write = true};
  ExecSpec shout{
      .command = {"sh", "-c", "tee given; env; base64 < given; cat given >&2; rm given"}};
  shout.spec.tool.side_effects = SideEffects{.write = true};
  shout.spec.secrets = {"TOKEN"};
  std::vector<ToolSpec> specs;
  for (auto& [name, exec] :
       std::map<std::string, ExecSpec>{{"read", read}, {"weather", weather}, {"shout", shout}}) {
    auto made = program(folder, name, exec);
    if (!made) return forward(made);
    auto with = with_secrets(*std::move(made), {{.name = "TOKEN", .variable = "TALKER_SECRET"}},
                             environment);
    if (!with) return forward(with);
    specs.push_back(*std::move(with));
  }
  return Toolbox::of(std::move(specs));
}

Result<std::unique_ptr<Provider>> make_model(const Words& words, const Environment& environment) {
  if (!words.text("script").empty()) {
    std::ifstream file(words.text("script"));
    return make_scripted(std::string(std::istreambuf_iterator<char>(file), {}));
  }
  auto key = words.text("key") == "file" ? api_key_from_file(words.text("folder") + "/key")
                                         : api_key_from_environment(environment, "TALKER_KEY");
  if (!key) return forward(key);
  const ModelServices services{.clock = system_clock(), .ids = random_ids()};
  HttpProviderOptions http{.base_url = words.text("url"), .key = *std::move(key)};
  http.retry = {.first_wait = Duration(1), .wait_max = Duration(1), .total = Duration(20)};
  if (words.text("format") == "anthropic") return make_anthropic({.http = http}, services);
  http.base_url += "/v1";
  return make_chat_completions({.http = http}, services);
}

std::string model_of(const Words& words) { return words.find("model").value_or("m"); }

Result<AgentSpec> make_spec(const Words& words, const Environment& environment) {
  if (!words.text("agent").empty()) {
    const auto file = read_agent_file(words.text("agent"));
    if (!file) return fail(file.error().code, file.error().message);
    return make_agent_spec(
        *file, {.environment = environment, .state_folder = words.text("folder") + "/state"},
        {.clock = system_clock(), .ids = random_ids()});
  }
  auto tools = make_tools(words.text("folder"), environment);
  if (!tools) return forward(tools);
  AgentSpec spec{.setup = {.system_prompt = "Be brief.", .model = model_of(words)},
                 .tools = *std::move(tools)};
  spec.digest = "model " + spec.setup.model;
  spec.on_change = OnChange::go_on;
  spec.permissions.write = Permit::allow;
  spec.limits.iterations = 3;
  return spec;
}

Result<TurnReport> run(const Words& words, const Environment& environment, Store& store,
                       const std::stop_token& stop) {
  auto spec = make_spec(words, environment);
  if (!spec) return forward(spec);
  spec->prices.set(spec->setup.model, {.input = 1'000'000, .output = 1'000'000});
  spec->make_provider = [&](const Setup&) { return make_model(words, environment); };
  auto agent = Agent::start(store, *std::move(spec));
  if (!agent) return forward(agent);
  const SessionId id = SessionId::parse("the-session").value();
  auto resumed = (*agent)->resume(id);
  const bool is_new = !resumed && resumed.error().code == ErrorCode::not_found;
  if (!resumed && !is_new) return forward(resumed);
  auto session = is_new ? (*agent)->begin({.id = id, .budget_micros = 1'000'000'000})
                        : Result<AgentSession>(std::move(resumed->session));
  if (!session) return forward(session);
  Teller teller;
  const std::string input = words.text("say");
  auto message = input.empty() ? std::nullopt : std::optional(user_says(input));
  return session->run(std::move(message), teller, stop);
}

}  // namespace

int main(int count, char** given, char** environment) {
  const Words words(std::span(given, static_cast<std::size_t>(count)).subspan(1));
  dup2(STDOUT_FILENO, STDERR_FILENO);
  const Interrupt interrupt;  // Before there are other threads: they must not get its signals.
  auto store = open_store(words.text("location"));
  if (!store) return 1;
  const auto variables = Words::from_environment(environment);
  const auto report = run(
      words, [&](const std::string& name) { return variables.find(name); }, **store,
      interrupt.token());
  if (report) {
    say(fmt::format("ended {} {}", to_string(report->stop), report->why));
  } else {
    say(fmt::format("failed {}: {}", to_string(report.error().code), report.error().message));
  }
  std::string line;
  if (!words.text("holds").empty()) std::getline(std::cin, line);
  return 0;
}
