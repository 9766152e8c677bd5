// An agent with one tool, and a script instead of a model:
//   agents STORE SCRIPT [MESSAGE]
// Kill it at any time. Started again without a message, it continues from there.

#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <perdure/agent/agent.hpp>
#include <perdure/agent/provider.hpp>
#include <perdure/store/store.hpp>

using namespace perdure;

namespace {

// [tool]
// Pays by writing a line to a ledger. A later process finds the payment by the call's key.
ToolSpec pay_tool(const std::string& book) {
  Tool tool{.name = "pay", .description = "Pays a bill."};
  tool.input_schema = R"({"type": "object", "required": ["bill"],
                          "properties": {"bill": {"type": "string"}}})";
  tool.side_effects = SideEffects{.write = true};
  tool.run = [book](const CallContext& call) -> ToolOutcome {
    std::ofstream(book, std::ios::app) << call.key << '\n' << std::flush;
    return Succeeded{.content = "paid"};
  };
  tool.verify = [book](const VerifyContext& call) -> Verdict {
    std::ifstream lines(book);
    for (std::string line; std::getline(lines, line);) {
      if (line == call.key) return Landed{.content = "paid"};
    }
    return NotLanded{};
  };
  return {.tool = std::move(tool)};
}
// [end]

// [observer]
ObserveWith terminal() {
  ObserveWith observe;
  observe.on_text = [](std::string_view piece) { std::cout << piece << std::flush; };
  observe.on_progress = [](const CallProgress& progress) {
    std::cout << "\n[" << progress.tool << ": " << progress.line << "]" << std::flush;
  };
  observe.on_event = [](const AgentEvent& event) {
    if (const auto* told = std::get_if<CallTold>(&event)) {
      std::cout << "\n[" << to_string(told->state) << ": " << told->result.content << "]\n";
    }
    if (const auto* ended = std::get_if<TurnEnded>(&event)) {
      std::cout << "\n[" << to_string(ended->stop) << "]\n";
    }
  };
  return observe;
}
// [end]

// [spec]
AgentSpec spec_of(const std::string& book, const std::string& script) {
  AgentSpec spec;
  spec.setup = {.system_prompt = "You pay bills.", .model = "my-model"};
  spec.tools = Toolbox::of({pay_tool(book)}).value();
  spec.permissions.write = Permit::allow;
  spec.limits.iterations = 20;
  spec.prices.set("my-model", {.input = 500'000, .output = 2'250'000});  // $0.50 and $2.25.
  spec.make_provider = [script](const Setup&) { return make_scripted(script); };
  return spec;
}
// [end]

// [session]
Result<AgentSession> take_up(Agent& agent) {
  const SessionId id = SessionId::parse("bills").value();
  auto resumed = agent.resume(id);
  if (resumed) return std::move(resumed->session);
  if (resumed.error().code != ErrorCode::not_found) return forward(resumed);
  return agent.begin({.id = id, .budget_micros = 1'000'000});
}
// [end]

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string location = argv[1];
  std::ifstream file(argv[2]);
  const std::string script(std::istreambuf_iterator<char>(file), {});

  const auto store = open_store(location).value();
  const auto agent = Agent::start(*store, spec_of(location + ".book", script)).value();
  auto session = take_up(*agent).value();

  const auto input = argc > 3 ? std::optional(user_says(argv[3])) : std::nullopt;
  const auto report = session.run(input, terminal());
  if (!report) {
    std::cerr << report.error().message << '\n';
    return 1;
  }
  std::cout << session.session().state().budget.totals.spent << " micros so far\n";
  return 0;
}
