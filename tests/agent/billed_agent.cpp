// The responses are a script's, which goes by the conversation: so a later process is told the same.

#include "agent/billed_agent.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <variant>

#include "doubles/must.hpp"
#include "doubles/watched_store.hpp"
#include "perdure/agent/agent.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/agent/tools.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"

namespace perdure::billed {
namespace {

std::string script_of(const Manner& manner) {
  std::string responses;
  int number = 0;
  for (const auto& names : manner.asked) {
    std::string calls;
    for (const std::string& name : names) {
      calls += fmt::format(R"({}{{"name": "{}", "args": {{"n": {}}}}})", calls.empty() ? "" : ",",
                           name, ++number);
    }
    responses += fmt::format(R"({{"calls": [{}]}},)", calls);
  }
  // As many as may be asked for again after one that broke off.
  for (int i = 0; i < 4; ++i) responses += fmt::format(R"({}{{"text": "done"}})", i > 0 ? "," : "");
  return fmt::format(R"({{"responses": [{}]}})", responses);
}

ToolSpec tool_of(std::string name, SideEffects effects, std::size_t result_bytes) {
  Tool tool{.name = std::move(name), .side_effects = effects};
  // What it did is found in a book, so that nobody has to decide about it.
  tool.honours_key = effects.mutate;
  tool.run = [result_bytes](const CallContext&) -> ToolOutcome {
    return Succeeded{std::string(result_bytes, 'r')};
  };
  return {.tool = std::move(tool)};
}

}  // namespace

std::vector<Manner> every_manner() {
  constexpr std::size_t long_bytes = 100'000;
  const std::vector<Manner> turns = {
      {.name = "answer"},
      {.name = "reads", .asked = {{"look", "look"}, {"look"}}},
      {.name = "changes", .asked = {{"pay"}, {"pay", "look"}}},
      {.name = "long_reads", .asked = {{"look", "look"}}, .result_bytes = long_bytes},
      {.name = "long_changes", .asked = {{"pay"}}, .result_bytes = long_bytes}};
  std::vector<Manner> every;
  for (const Manner& turn : turns) {
    const auto add = [&](const std::string& how, auto change) {
      Manner manner = turn;
      manner.name += how;
      change(manner);
      every.push_back(std::move(manner));
    };
    const int last = static_cast<int>(turn.asked.size()) + 1;
    add("", [](Manner&) {});
    add("_without_usage", [](Manner& manner) { manner.tells_usage = false; });
    add("_broken_off", [&](Manner& manner) { manner.breaks_off_at = last; });
    add("_broken_off_without_usage", [&](Manner& manner) {
      manner.breaks_off_at = last;
      manner.tells_usage = false;
    });
    add("_stopped", [&](Manner& manner) { manner.is_stopped_at = last; });
    add("_unanswered", [&](Manner& manner) { manner.is_unanswered_at = last; });
  }
  return every;
}

std::string find_fault(std::int64_t recorded, const std::vector<Bill>& bills, std::int64_t lost) {
  std::int64_t least = 0;
  std::int64_t most = lost;
  for (const Bill& bill : bills) {
    least += bill.cost;
    most += bill.is_told ? bill.cost : bill.most;
  }
  if (recorded >= least && recorded <= most) return "";
  return fmt::format("{} recorded; billed {} in {} requests, with all that may be lost {}",
                     recorded, least, bills.size(), most);
}

class BilledModel::Asked final : public Provider {
 public:
  explicit Asked(BilledModel& model)
      : model_(model), inner_(must(make_scripted(script_of(model.manner_)))) {}

  [[nodiscard]] Result<PreparedRequest> prepare(const ModelRequest& request) override {
    auto prepared = inner_->prepare(request);
    if (!prepared) return prepared;
    prepared_ = *prepared;
    model_.most_ = std::max(model_.most_, prepared->tokens_in + prepared->tokens_out);
    return prepared;
  }

  [[nodiscard]] ModelOutcome send(ModelObserver& observer, std::stop_token stop) override {
    ModelOutcome outcome = inner_->send(observer, std::move(stop));
    auto* const response = std::get_if<ModelResponse>(&outcome);
    if (response == nullptr) return outcome;
    const ModelUsage usage = response->usage;
    const Manner& manner = model_.manner_;
    const int number = static_cast<int>(model_.bills_.size()) + 1;
    const bool is_stopped = number == manner.is_stopped_at;
    const bool is_unanswered = number == manner.is_unanswered_at;
    const bool is_whole = number != manner.breaks_off_at && !is_stopped && !is_unanswered;
    model_.bills_.push_back({.moment = model_.clock ? model_.clock() : 0,
                             .cost = usage.tokens_in + usage.tokens_out,
                             .most = prepared_.tokens_in + prepared_.tokens_out,
                             .is_told = is_whole && manner.tells_usage});
    if (model_.on_arrival) model_.on_arrival(number);
    if (is_unanswered) {
      return NotAnswered{.error = {ErrorCode::unavailable, "it hung up", ""}, .may_be_paid = true};
    }
    if (!manner.tells_usage) response->usage = {};
    if (is_whole) return outcome;
    // As a stream that told at its beginning what was sent.
    response->usage = {.tokens_in = manner.tells_usage ? usage.tokens_in : 0};
    response->message.is_partial = true;
    return CutOff{.so_far = std::move(*response),
                  .error = {ErrorCode::unavailable, "it broke off", ""},
                  .was_stopped = is_stopped};
  }

 private:
  BilledModel& model_;
  std::unique_ptr<Provider> inner_;
  PreparedRequest prepared_;
};

std::unique_ptr<Provider> BilledModel::make_provider() { return std::make_unique<Asked>(*this); }

BilledAgent::BilledAgent(Store& store, BilledModel& model, Clock& clock, IdSource& ids,
                         const std::optional<SessionId>& id) {
  const std::size_t bytes = model.manner().result_bytes;
  AgentSpec spec{.setup = {.model = "m"}};
  spec.tools = must(Toolbox::of(
      {tool_of("look", {.read = true}, bytes), tool_of("pay", {.mutate = true}, bytes)}));
  spec.permissions.mutate = Permit::allow;
  spec.prices.set("m", {.input = 1'000'000, .output = 1'000'000});
  spec.make_provider = [&model](const Setup&) { return model.make_provider(); };
  agent_ = must(Agent::start(
      store, std::move(spec),
      {.host = "here", .pid = 7, .renews_itself = false, .clock = &clock, .ids = &ids}));
  session_ = id ? std::move(must(agent_->resume(*id)).session)
                : must(agent_->begin({.budget_micros = 1'000'000'000}));
}

Result<TurnReport> BilledAgent::run(const std::optional<std::string>& input) {
  class Watch final : public AgentObserver {
   public:
    explicit Watch(BilledAgent& agent) : agent_(agent) {}
    void on_event(const AgentEvent& event) override {
      if (!std::holds_alternative<Recorded>(event)) return;
      agent_.most_reserved_ = std::max(agent_.most_reserved_, agent_.money().reserved);
    }

   private:
    BilledAgent& agent_;
  };
  Watch watch(*this);
  return session_->run(input ? std::optional(user_says(*input)) : std::nullopt, watch);
}

void BilledAgent::finish() {
  constexpr int runs_max = 5;
  for (int i = 0; i < runs_max; ++i) {
    if (must(run(std::nullopt)).stop == TurnStop::completed) return;
  }
  ADD_FAILURE() << "the turn does not end";
}

Left have_turn(Store& store, Clock& clock, const Manner& manner, const Death& death,
               const std::function<void()>& die) {
  Left left;
  WatchedStore watched(store);
  BilledModel model(manner);
  BilledAgent agent(watched, model, clock, random_ids());
  left.id = agent.id();
  const auto end = [&] {
    left.is_dead = true;
    if (die) die();
  };
  int commits = 0;
  watched.on_commit([&](const Lease& lease, const Batch& batch) -> Result<Receipt> {
    if (left.is_dead) return fail(ErrorCode::unavailable, "the process is dead");
    auto receipt = store.commit(lease, batch);
    if (++commits == death.commits) end();
    return receipt;
  });
  model.on_arrival = [&](int number) {
    if (number == death.requests) end();
  };
  [[maybe_unused]] const auto ended = agent.run("go");
  left.bills = model.bills();
  left.most = model.most();
  left.most_reserved = agent.most_reserved();
  return left;
}

std::string end_turn(Store& store, Clock& clock, Manner manner, Left left, std::int64_t lost) {
  manner.breaks_off_at = manner.is_stopped_at = manner.is_unanswered_at = 0;
  BilledModel model(std::move(manner));
  BilledAgent agent(store, model, clock, random_ids(), left.id);
  agent.finish();
  left.bills.insert(left.bills.end(), model.bills().begin(), model.bills().end());
  return find_fault(agent.money().recorded(), left.bills, lost);
}

}  // namespace perdure::billed
