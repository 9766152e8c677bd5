// A turn ends by itself: the more a model has said in it, the sooner it rests.

#include "simulation/model.hpp"

#include <cstdint>
#include <fmt/format.h>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "perdure/core/json.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/ledger.hpp"
#include "property/dice.hpp"
#include "runtime/api/records.hpp"
#include "simulation/chance.hpp"
#include "simulation/kinds.hpp"

namespace perdure::simulation {
namespace {

std::string args_with(const std::string& op, const std::string& note) {
  return Json(Json::Object{{"op", op}, {"note", note}}).text();
}

// How many responses the model gave since somebody spoke to it.
unsigned responses_in_turn(const std::vector<Message>& history) {
  unsigned count = 0;
  for (const Message& message : history) {
    if (message.role == Role::assistant) {
      ++count;
    } else if (!std::holds_alternative<ToolResultBlock>(message.blocks.front())) {
      count = 0;
    }
  }
  return count;
}

std::string reworded(const std::string& args) {
  const auto json = parse_json(args);
  const Json* op = json ? json->find("op") : nullptr;
  if (op == nullptr || op->as_string() == nullptr) return args;
  return args_with(*op->as_string(), "in other words");
}

}  // namespace

Model::Model(std::uint64_t seed) : seed_(seed) {
  Dice dice = dice_for(seed, "model");
  manner_ = static_cast<Manner>(dice.below(3));
  for (const Kind& kind : all_kinds()) {
    if (dice.chance(45)) tools_.push_back(kind.name);
  }
  if (tools_.empty()) tools_ = {"look", "ship", "ring"};
}

std::vector<Model::Asked> Model::unsuccessful(const std::vector<Message>& history) const {
  std::map<std::string, Asked> open;
  std::vector<Asked> missed;
  for (const Message& message : history) {
    if (message.role == Role::assistant) open.clear();
    for (const Block& block : message.blocks) {
      if (const auto* call = std::get_if<ToolCallBlock>(&block)) {
        open[call->id] = {call->name, call->args};
      } else if (const auto* result = std::get_if<ToolResultBlock>(&block)) {
        // Whatever its manner, it asks again for what it is told did not happen.
        const auto outcome = outcome_of(*result);
        const bool has_failed = outcome && outcome->state == CallState::failed;
        const bool asks_again = has_failed || manner_ != Manner::goes_on;
        if (result->is_error && asks_again) missed.push_back(open[result->call_id]);
      }
    }
  }
  return missed;
}

Model::Asked Model::next_call(Dice& dice, const std::vector<Asked>& missed) const {
  if (!missed.empty() && dice.chance(60)) {
    Asked again = missed[dice.below(missed.size())];
    if (manner_ == Manner::rewords) again.args = reworded(again.args);
    return again;
  }
  if (dice.chance(2)) return {"no_such_tool", "{}"};
  const std::string& tool = dice.pick(tools_);
  if (dice.chance(2)) return {tool, "[\"not\", \"an object\""};
  return {tool, args_with(fmt::format("op-{}", dice.between(1, 4)), "as asked")};
}

void Model::add_calls(Dice& dice, Message& message, const std::vector<Message>& history) const {
  const auto missed = unsuccessful(history);
  const auto count = dice.between(1, 4);
  for (std::uint64_t i = 0; i < count; ++i) {
    Asked asked = next_call(dice, missed);
    message.blocks.emplace_back(ToolCallBlock{.id = fmt::format("call_{}", i),
                                              .name = std::move(asked.tool),
                                              .args = std::move(asked.args)});
  }
}

Response Model::respond(const std::vector<Message>& history, std::uint64_t number) const {
  Dice dice = dice_for(seed_, fmt::format("response {}", number));
  Response response;
  Message& message = response.message;
  message.id = fmt::format("response-{}", number);
  message.role = Role::assistant;
  if (dice.chance(20)) {
    message.blocks.emplace_back(ReasoningBlock{
        .text = "hm", .metadata = RawJson::from_value(Json::Object{{"signature", "x"}})});
  }
  if (dice.chance(50)) message.blocks.emplace_back(TextBlock{.text = "Let me see."});
  const unsigned said = responses_in_turn(history);
  const bool rests = said >= 5 || dice.chance(15 + 20 * said);
  if (rests) {
    message.blocks.emplace_back(TextBlock{.text = "That is all."});
  } else {
    add_calls(dice, message, history);
    if (dice.chance(8)) message.is_partial = true;
  }
  response.usage = {.tokens_in = static_cast<std::int64_t>(history.size()),
                    .tokens_out = 7,
                    .cost_micros = static_cast<std::int64_t>(dice.between(1, reserve_micros))};
  if (dice.chance(20)) {
    response.extras.plan = Plan{.id = fmt::format("plan-{}", number), .objective = "to get there"};
  }
  if (!rests && dice.chance(50)) {
    response.extras.next_request = RequestSpec{.model = "sim", .reserve_micros = reserve_micros};
  }
  return response;
}

}  // namespace perdure::simulation
