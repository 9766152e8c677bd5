// The judge never helps: it only resolves what the session asks for, as the world answers.

#include "effects/trial.hpp"

#include <cstdint>
#include <fmt/format.h>
#include <string>
#include <variant>

#include "crash/child_process.hpp"
#include "doubles/must.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/state_details.hpp"
#include "world/script.hpp"
#include "world/wire.hpp"

namespace perdure::effects {
namespace {

std::string op_in(const Message& message, const std::string& provider_id) {
  for (const Block& block : message.blocks) {
    const auto* call = std::get_if<ToolCallBlock>(&block);
    if (call == nullptr || call->id != provider_id) continue;
    return world::text_of(parse_json(call->args).value(), "op");
  }
  return "";
}

}  // namespace

bool Trial::play(const Death& death) {
  const bool is_file = backend_.home == Home::file;
  const std::uint64_t write = is_file ? death.write : (death.write + 1) / 2;
  const char* const around = is_file ? "during" : death.write % 2 == 1 ? "before" : "after";
  ChildProcess player("effects_player",
                      {location(), world_.socket(), std::string(to_string(manner_)),
                       std::to_string(write), around, std::to_string(death.moment)});
  for (const std::string& line : player.read_to_end()) hear(line);
  const Ending ending = player.wait();
  if (ending.was_killed()) home_.settle();
  if (!ending.is_clean() && !ending.was_killed())
    wrong(fmt::format("it ended with {}", ending.text()));
  return ending.is_clean();
}

std::shared_ptr<Store> Trial::look() { return must(open_store(location())); }

void Trial::finish() {
  for (int runs = 0; runs < 20 && !is_done_; ++runs) {
    waits_.reset();
    play({});
    if (waits_) decide(*waits_);
  }
  if (!is_done_) wrong("it never ended");
}

void Trial::judge() {
  for (const auto& call : world::scripted_calls()) {
    const auto tally = world_.count(call.op);
    const auto effects = static_cast<int>(tally.effects.size());
    if (effects > call.effects_max())
      wrong(fmt::format("{} took effect {} times", call.op, effects));
    const bool may_be_missing = manner_ == Manner::goes_on && call.effect == EffectClass::unsafe;
    if (effects < call.effects_max() && !may_be_missing) wrong(call.op + " never took effect");
  }
  judge_ledger();
  judge_money();
}

void Trial::hear(const std::string& line) {
  if (line.starts_with("asking ") && answered_.contains(line.substr(7))) {
    wrong(line.substr(7) + " was bought and committed, and is bought again");
  }
  if (line.starts_with("answered ")) answered_.insert(line.substr(9));
  if (line.starts_with("waits ")) waits_ = std::stoull(line.substr(6));
  if (line.starts_with("failed ")) wrong(line);
  if (line.starts_with("done ")) {
    is_done_ = true;
    const auto space = line.find(' ', 5);
    const std::uint64_t deaths_of_a_write = backend_.home == Home::schema ? 2 : 1;
    points_ = {.write = deaths_of_a_write * std::stoull(line.substr(5, space - 5)),
               .moment = std::stoull(line.substr(space + 1))};
  }
}

void Trial::decide(Position call) {
  const auto store = look();
  const State state = must(read_state(*store, id_, Point::head()));
  const auto open = state.details->open_calls.find(call);
  if (open == state.details->open_calls.end()) return wrong("it waits for a call that is not open");
  const auto args = parse_json(args_of(state, open->second).value_or("{}"));
  const std::string op = world::text_of(*args, "op");
  const bool landed = !world_.count(op).effects.empty();
  Mail mail(*store, id_);
  must(mail.resolve(mint<MessageTag>(random_ids()), call,
                    {.as = landed ? Decision::As::succeeded : Decision::As::failed,
                     .result = landed ? "it was done" : "it was not done",
                     .who = "the judge",
                     .why = "asked the world"}));
}

void Trial::judge_ledger() {
  const auto store = look();
  const State state = must(read_state(*store, id_, Point::head()));
  for (const Call& call : must(store->ledger().list({.session = id_}))) {
    const bool is_open = call.state == CallState::intended || call.state == CallState::dispatched ||
                         call.state == CallState::in_doubt;
    if (is_open) wrong(fmt::format("call {} is still {}", call.position, to_string(call.state)));
    if (call.state != CallState::succeeded || call.effect == EffectClass::read_only) continue;
    const Message* message = find_message(state, call.args);
    const std::string op = message == nullptr ? "" : op_in(*message, call.provider_id);
    if (world_.count(op).effects.empty()) wrong(op + " is settled, and the world knows nothing");
  }
}

void Trial::judge_money() {
  std::int64_t paid = 0;
  for (const auto& tally : world_.all()) {
    if (!tally.op.starts_with("response-")) continue;
    paid += response_micros * static_cast<std::int64_t>(tally.effects.size());
  }
  const auto store = look();
  const State state = must(read_state(*store, id_, Point::head()));
  if (state.budget.totals.recorded() < paid) {
    wrong(fmt::format("{} was paid, and {} is recorded", paid, state.budget.totals.recorded()));
  }
}

}  // namespace perdure::effects
