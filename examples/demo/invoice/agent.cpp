// What a program has to do after a crash is what it does at its first start: create, which is not an
// error to do twice, resume, and go on.

#include "invoice/agent.hpp"

#include <fmt/format.h>
#include <fstream>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill is POSIX, not C++.
#include <unistd.h>

#include "perdure/runtime/history.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/store/open.hpp"

namespace invoice {

using namespace perdure;  // NOLINT(google-build-using-namespace): an example.

namespace {

constexpr std::int64_t reserve_micros = 6'000;
constexpr std::int64_t cost_micros = 4'200;

void say(const std::string& what, const std::string& text) {
  const std::string line = fmt::format("{}\t{}\n", what, text);
  // Nobody listens any more: there is nothing left to do.
  if (write(STDOUT_FILENO, line.data(), line.size()) < 0) _exit(exit_trouble);
}

// The worst moment there is: it has happened, and nothing says so.
void die_once(const CallContext& call) {
  if (call.attempt == 1) kill(getpid(), SIGKILL);
}

Tool pay(const std::string& bank) {
  return {.name = "pay",
          .side_effects = SideEffects{.network = true, .mutate = true},
          .repeat = Repeat::once_per_session,
          .business_key = "/invoice",
          .run = [bank](const CallContext& call) -> ToolOutcome {
            std::ofstream(bank, std::ios::app) << call.key << ' ' << call.args.text() << std::endl;
            say("pay", "the bank has the charge");
            die_once(call);
            return Succeeded{"paid"};
          },
          .verify = [bank](const VerifyContext& call) -> Verdict {
            std::ifstream charges(bank);
            for (std::string line; std::getline(charges, line);) {
              if (!line.starts_with(call.key)) continue;
              say("verify", "the bank is asked by the call's key: it has the charge");
              return Landed{"paid"};
            }
            say("verify", "the bank is asked by the call's key: no charge");
            return NotLanded{};
          }};
}

// Nobody can ask a mail server whether it sent something: this tool is unsafe.
Tool send_email(const std::string& outbox) {
  return {.name = "send_email",
          .side_effects = SideEffects{.network = true, .mutate = true},
          .run = [outbox](const CallContext& call) -> ToolOutcome {
            std::ofstream(outbox, std::ios::app) << call.args.text() << std::endl;
            say("send_email", "the mail server has it");
            die_once(call);
            return Succeeded{"sent"};
          }};
}

Message asks_for(const char* tool, const char* args) {
  return {.role = Role::assistant,
          .blocks = {ToolCallBlock{.id = "call_0", .name = tool, .args = args}}};
}

// Stands in for a model: what it says follows from the conversation alone.
Message ask_model(const std::vector<Message>& conversation) {
  say("model", "is asked for the next step");
  switch (conversation.size()) {
    case 1:
      return asks_for("pay", R"({"invoice":7,"cents":1999})");
    case 3:
      return asks_for("send_email", R"({"to":"ann","text":"Invoice 7 is paid."})");
    default:
      return assistant_says("Invoice 7 is paid, and Ann knows.");
  }
}

Result<void> begin(Runtime& runtime) {
  auto created = runtime.create(
      {.id = session_id(), .annotation = {.title = "Invoice 7"}, .budget_micros = 100'000});
  if (!created && created.error().code != ErrorCode::already_exists) return forward(created);
  return {};
}

// One model call and what it asks for. True: the session waits for somebody.
Result<bool> step(Session& session) {
  std::optional<Message> input;
  if (session.state().transcript.empty()) input = user_says("Pay invoice 7 and tell Ann.");
  if (auto asked = session.ask({.model = "scripted", .reserve_micros = reserve_micros}, input);
      !asked)
    return forward(asked);
  auto answered = session.answer(ask_model(well_formed(session.state())),
                                 {.tokens_in = 80, .tokens_out = 40, .cost_micros = cost_micros});
  if (!answered) return forward(answered);
  auto calls = session.run_calls();
  if (!calls) return forward(calls);
  return calls->waiting.has_value();
}

bool rests(const State& state) {
  return !state.transcript.empty() && state.transcript.back().message.role == Role::assistant;
}

Result<int> run(const std::string& store_path, const std::string& world) {
  auto store = open_store(store_path);
  if (!store) return forward(store);
  auto tools = Tools::of({pay(bank_file(world)), send_email(outbox_file(world))});
  if (!tools) return forward(tools);
  auto runtime = Runtime::start(**store, {.tools = *std::move(tools)});
  if (!runtime) return forward(runtime);
  if (auto begun = begin(**runtime); !begun) return forward(begun);
  auto resumed = (*runtime)->resume(session_id());
  if (!resumed) return forward(resumed);
  if (const auto& waiting = resumed->report.calls.waiting) {
    say("in doubt", fmt::format("{}: {}; the session waits", waiting->tool, waiting->why));
    return exit_waits;
  }
  Session& session = resumed->session;
  while (!rests(session.state())) {
    auto waits = step(session);
    if (!waits) return forward(waits);
    if (*waits) return exit_waits;
  }
  say("answer", text_of(session.state().transcript.back().message));
  auto completed = session.set_status({.status = Status::completed});
  if (!completed) return forward(completed);
  return exit_done;
}

}  // namespace

SessionId session_id() { return SessionId::parse("invoice-7").value(); }
std::string bank_file(const std::string& world) { return world + "/bank.txt"; }
std::string outbox_file(const std::string& world) { return world + "/outbox.txt"; }

int run_agent(const std::string& store_path, const std::string& world) {
  const auto ended = run(store_path, world);
  if (ended) return *ended;
  say("trouble", fmt::format("{}: {}", to_string(ended.error().code), ended.error().message));
  return exit_trouble;
}

}  // namespace invoice
