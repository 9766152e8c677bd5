// Which response is next follows from how many there are, as with a script.

#include "agent_turns.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <time.h>  // NOLINT(modernize-deprecated-headers): clock_gettime is POSIX, not C++.
#include <utility>
#include <variant>
#include <vector>

#include "perdure/agent/agent.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/agent/tools.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/records.hpp"
#include "sessions.hpp"
#include "turns.hpp"

namespace perdure::bench {
namespace {

constexpr const char* model_name = "workload";

double cpu_us() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

Message unnamed(Message message) {
  message.id.clear();
  message.created_at = {};
  return message;
}

class WorkloadModel final : public Provider {
 public:
  explicit WorkloadModel(const std::vector<PlayedTurn>& turns) : turns_(turns) {}

  [[nodiscard]] Result<PreparedRequest> prepare(const ModelRequest& request) override {
    said_.resize(request.kept);
    for (const Message& message : request.messages) {
      said_.push_back(answered() + (message.role == Role::assistant ? 1 : 0));
    }
    return PreparedRequest{.tokens_in = 450, .tokens_out = 120};
  }
  [[nodiscard]] ModelOutcome send(ModelObserver& /*observer*/, std::stop_token /*stop*/) override {
    const PlayedTurn& turn = turns_[answered() / 2 % turns_.size()];
    const bool is_first = answered() % 2 == 0;
    return ModelResponse{.message = unnamed(is_first ? turn.call : turn.last),
                         .stop = is_first ? StopReason::calls : StopReason::end,
                         .usage = {.is_known = true, .tokens_in = 450, .tokens_out = 120}};
  }

 private:
  [[nodiscard]] std::size_t answered() const { return said_.empty() ? 0 : said_.back(); }

  const std::vector<PlayedTurn>& turns_;
  std::vector<std::size_t> said_;  // Messages of the assistant, up to each message.
};

// Each answers with the result of the turn that is played now.
Toolbox tools_for(const std::vector<PlayedTurn>& turns, const std::size_t& now) {
  std::set<std::string> names;
  for (const PlayedTurn& turn : turns) {
    for (const Block& block : turn.call.blocks) {
      if (const auto* call = std::get_if<ToolCallBlock>(&block)) names.insert(call->name);
    }
  }
  std::vector<ToolSpec> specs;
  for (const std::string& name : names) {
    Tool tool{.name = name, .side_effects = SideEffects{.mutate = true}};
    tool.run = [&turns, &now](const CallContext&) -> ToolOutcome {
      return Succeeded{.content = turns[now % turns.size()].result};
    };
    tool.verify = [](const VerifyContext&) -> Verdict { return NotLanded{}; };
    specs.push_back({.tool = std::move(tool)});
  }
  return value_or_stop("tools", Toolbox::of(std::move(specs)));
}

// Writes bodies and sends none.
class MuteModel final : public Provider {
 public:
  explicit MuteModel(std::unique_ptr<Provider> real) : real_(std::move(real)) {}
  [[nodiscard]] Result<PreparedRequest> prepare(const ModelRequest& request) override {
    return real_->prepare(request);
  }
  [[nodiscard]] ModelOutcome send(ModelObserver& /*observer*/, std::stop_token /*stop*/) override {
    return ModelResponse{.message = {.role = Role::assistant, .blocks = {TextBlock{"Yes."}}}};
  }

 private:
  std::unique_ptr<Provider> real_;
};

}  // namespace

PlayedAgent::PlayedAgent(Store& store, const std::vector<PlayedTurn>& turns) : turns_(turns) {
  AgentSpec spec{.setup = {.system_prompt = "Be brief.", .model = model_name},
                 .tools = tools_for(turns_, now_)};
  spec.permissions.mutate = Permit::allow;
  spec.prices.set(model_name, {.input = 1'000'000, .output = 1'000'000});
  spec.make_provider = [this](const Setup&) -> Result<std::unique_ptr<Provider>> {
    return std::make_unique<WorkloadModel>(turns_);
  };
  agent_ = value_or_stop("agent", Agent::start(store, std::move(spec)));
  session_ = value_or_stop("begin", agent_->begin({.id = session_id(0)}));
}

double PlayedAgent::play_turn() {
  AgentObserver nobody;
  Message question = unnamed(turns_[now_ % turns_.size()].question);
  const double before = cpu_us();
  const TurnReport report = value_or_stop("run", session_->run(std::move(question), nobody));
  const double took = cpu_us() - before;
  if (report.stop != TurnStop::completed || report.responses != 2) {
    stop("turn", {ErrorCode::conflict, "a turn was not as the workload has it", ""});
  }
  ++now_;
  return took;
}

double median_of(const std::vector<double>& values, std::size_t first, std::size_t end) {
  std::vector<double> some;
  for (std::size_t i = first; i < end; ++i) some.push_back(values.at(i));
  return percentile(std::move(some), 0.5);
}

std::size_t turns_of_text(const std::vector<PlayedTurn>& turns, std::size_t bytes) {
  std::size_t count = 0;
  for (std::size_t sum = 0; sum < bytes; ++count) {
    const PlayedTurn& turn = turns[count % turns.size()];
    sum += to_json(turn.question).size() + to_json(turn.call).size() + turn.result.size() +
           to_json(turn.last).size();
  }
  return count;
}

AgentSpec idle_agent() {
  AgentSpec spec{.setup = {.system_prompt = "Be brief.", .model = model_name}};
  spec.make_provider = [](const Setup&) -> Result<std::unique_ptr<Provider>> {
    auto real = make_anthropic({.http = {.base_url = "http://127.0.0.1:9"}},
                               {.clock = system_clock(), .ids = random_ids()});
    if (!real) return forward(real);
    return std::make_unique<MuteModel>(*std::move(real));
  };
  return spec;
}

}  // namespace perdure::bench
