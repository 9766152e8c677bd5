// Runs the refund desk's agent, or resumes it where it was killed:
//
//   refund_desk_run AGENT.yaml FOLDER [MESSAGE]
//   refund_desk_run AGENT.yaml FOLDER resolve succeeded|failed|retry|abandoned WHY
//
// Exit code 0: it answered. 3: a call is in doubt, and a person has to decide its outcome.

#include <cstdlib>
#include <iostream>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <perdure/agent/agent.hpp>
#include <perdure/core/id.hpp>
#include <perdure/store/store.hpp>

using namespace perdure;

namespace {

constexpr int in_doubt = 3;

std::optional<std::string> from_environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

class Terminal final : public AgentObserver {
 public:
  void on_text(std::string_view piece) override { std::cout << piece << std::flush; }
  void on_event(const AgentEvent& event) override {
    if (const auto* started = std::get_if<CallStarted>(&event)) {
      std::cout << "\n  " << started->tool << " …" << std::endl;
    }
    if (const auto* told = std::get_if<CallTold>(&event)) {
      std::cout << "  " << to_string(told->state) << ": " << told->result.content << std::endl;
    }
  }
};

int tell(const Error& error) {
  std::cerr << error.message << '\n';
  return 1;
}

Result<AgentSession> take_up(Agent& agent, const SessionId& id) {
  auto resumed = agent.resume(id);
  if (resumed) return std::move(resumed->session);
  if (resumed.error().code != ErrorCode::not_found) return forward(resumed);
  return agent.begin({.id = id});
}

// A person's decision about the call in doubt.
Result<void> resolve(Store& store, AgentSession& session, const std::vector<std::string>& words) {
  const auto as = decision_from(words.at(1));
  if (!as) return fail(ErrorCode::invalid_argument, words.at(1) + " is no way to resolve a call");
  auto doubts = store.ledger().list(
      {.session = session.session().id(), .states = {CallState::in_doubt}, .limit = 1});
  if (!doubts) return forward(doubts);
  if (doubts->empty()) return fail(ErrorCode::not_found, "no call is in doubt");
  return session.session().resolve(
      doubts->front().position,
      {.as = *as, .result = words.at(2), .who = "the audience", .why = words.at(2)});
}

int run(AgentSpec spec, const std::string& folder, const std::vector<std::string>& words) {
  const auto store = open_store(folder + "/desk.db");
  if (!store) return tell(store.error());
  const auto agent = Agent::start(**store, std::move(spec));
  if (!agent) return tell(agent.error());
  auto session = take_up(**agent, SessionId::parse("refund-1042").value());
  if (!session) return tell(session.error());
  const bool resolves = words.size() == 3 && words.front() == "resolve";
  if (resolves) {
    if (auto resolved = resolve(**store, *session, words); !resolved) return tell(resolved.error());
  }
  Terminal terminal;
  const auto report = session->run(
      words.size() == 1 ? std::optional(user_says(words.front())) : std::nullopt, terminal);
  if (!report) return tell(report.error());
  std::cout << "\n[" << to_string(report->stop) << "] " << report->why << '\n';
  if (report->waiting) {
    std::cout << "call " << report->waiting->call << " of " << report->waiting->tool << " waits\n";
  }
  if (report->stop == TurnStop::needs_attention) return in_doubt;
  return report->stop == TurnStop::completed ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() < 2) {
    std::cerr << "usage: refund_desk_run AGENT.yaml FOLDER [MESSAGE | resolve AS WHY]\n";
    return 2;
  }
  auto spec = make_agent_spec(
      words[0], {.environment = from_environment, .state_folder = words[1] + "/state"},
      {.clock = system_clock(), .ids = random_ids()});
  if (!spec) return tell(spec.error());
  return run(*std::move(spec), words[1], {words.begin() + 2, words.end()});
}
