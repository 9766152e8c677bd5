// The judge never helps: it only resolves what the session asks for, as the world answers, once
// nothing is under way any more.

#include "agent/trial.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "agent/bought_model.hpp"
#include "agent/pairing.hpp"
#include "agent/task.hpp"
#include "crash/child_process.hpp"
#include "doubles/must.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/store.hpp"
#include "perdure/store/upkeep.hpp"
#include "runtime/api/state_details.hpp"
#include "runtime/writer/session_writer.hpp"
#include "tools/fifo.hpp"
#include "world/wire.hpp"

namespace perdure::agents {
namespace {

std::string op_in(const Message* message, const std::string& provider_id) {
  if (message == nullptr) return "";
  for (const Block& block : message->blocks) {
    const auto* call = std::get_if<ToolCallBlock>(&block);
    if (call == nullptr || call->id != provider_id) continue;
    return world::text_of(parse_json(call->args).value(), "op");
  }
  return "";
}

// Responses that the script knows nothing of: a call is asked for again that was said to have failed.
std::size_t repeats_in(const State& state) {
  return static_cast<std::size_t>(std::ranges::count_if(
      state.transcript, [](const PlacedMessage& placed) { return asks_again(placed.message); }));
}

bool is_open(CallState state) {
  return state == CallState::intended || state == CallState::dispatched ||
         state == CallState::in_doubt;
}

}  // namespace

Trial::Trial(const Backend& backend, Programs programs, const Task& task)
    : backend_(backend), programs_(programs), task_(task), world_(folder_.path()) {}

std::unique_ptr<ChildProcess> Trial::start(const std::vector<std::string>& words) {
  std::vector<std::string> all = {"location=" + location(),
                                  "socket=" + world_.socket(),
                                  "folder=" + folder_.path().string(),
                                  "desk=" + desk_.path().string(),
                                  fmt::format("task={}", task_.name),
                                  fmt::format("steps={}", file(fmt::format("steps-{}", ++runs_)))};
  all.insert(all.end(), words.begin(), words.end());
  return std::make_unique<ChildProcess>("agent_player", std::move(all));
}

void Trial::play(const Death& death) {
  const auto before = bought();
  const bool is_file = backend_.home == Home::file;
  const std::uint64_t write = is_file ? death.write : (death.write + 1) / 2;
  const char* const around = is_file ? "during" : death.write % 2 == 1 ? "before" : "after";
  const auto player = start({fmt::format("write={}", write), fmt::format("around={}", around),
                             fmt::format("step={}", death.step),
                             fmt::format("along={}", programs_ == Programs::die ? 1 : 0),
                             fmt::format("unlucky={}", task_.can_ask_again ? 1 : 0),
                             // A program that was being started when its agent was killed has the
                             // agent's descriptors, and so its lock, for another moment.
                             "wait=1000"});
  for (const std::string& line : player->read_to_end()) hear(line);
  const Ending ending = player->wait();
  if (ending.was_killed()) home_.settle();
  if (!ending.is_clean() && !ending.was_killed()) {
    wrong(fmt::format("it ended with {}", ending.text()));
  }
  compare(before);
}

void Trial::hear(const std::string& line) {
  if (line.starts_with("failed")) wrong(line);
  if (line.starts_with("waits ")) waits_ = std::stoull(line.substr(6));
  if (!line.starts_with("done ")) return;
  is_done_ = true;
  const auto space = line.find(' ', 5);
  const std::uint64_t deaths_of_a_write = backend_.home == Home::schema ? 2 : 1;
  points_ = {.write = deaths_of_a_write * std::stoull(line.substr(5, space - 5)),
             .step = std::stoull(line.substr(space + 1))};
}

void Trial::finish() {
  for (int runs = 0; runs < 20 && !is_done_; ++runs) {
    decide();
    play({});
  }
  if (!is_done_) wrong("it never ended");
}

void Trial::judge() {
  const auto store = must(open_store(location()));
  const State state = must(read_state(*store, id_, Point::head()));
  repeats_ = repeats_in(state);
  judge_effects();
  judge_ledger(must(store->ledger().list({.session = id_})), state);
  judge_money(state);
  judge_conversation(state);
  judge_task(state, must(store->log().read(id_, {})));
  if (!must(store->upkeep().check()).is_sound()) wrong("the store is not sound");
}

std::vector<pid_t> Trial::programs() const {
  std::vector<pid_t> all;
  std::ifstream numbers(file("programs"));
  for (pid_t number = 0; numbers >> number;) all.push_back(number);
  return all;
}

State Trial::read() const {
  const auto store = must(open_store(location()));
  auto state = read_state(*store, id_, Point::head());
  return state ? *std::move(state) : State{};  // Whoever died before its first commit left none.
}

std::vector<std::size_t> Trial::bought() const {
  if (runs_ == 0) return {};
  std::vector<std::size_t> times;
  for (const PlacedMessage& placed : read().transcript) {
    if (placed.message.role != Role::assistant) continue;
    times.push_back(world_.count(response_op(times.size())).effects.size());
  }
  return times;
}

void Trial::compare(const std::vector<std::size_t>& before) {
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (world_.count(response_op(i)).effects.size() == before[i]) continue;
    wrong(fmt::format("response {} was recorded, and was bought again", i));
  }
}

void Trial::decide() {
  if (!waits_) return;
  const Position call = *std::exchange(waits_, {});
  constexpr int patience_ms = 20'000;
  for (const pid_t program : programs()) {
    if (!has_ended(program, patience_ms)) wrong("a program never ends");
  }
  const State state = read();
  const auto open = state.details->open_calls.find(call);
  if (open == state.details->open_calls.end()) return wrong("it waits for a call that is not open");
  post_decision(call, op_of(state, open->second));
}

void Trial::decide_unasked(std::string_view op) {
  const State state = read();
  for (const auto& [call, open] : state.details->open_calls) {
    if (op_of(state, open) == op) return post_decision(call, std::string(op));
  }
  wrong("no call is open that could be decided");
}

std::string Trial::op_of(const State& state, const OpenCall& call) {
  const auto args = parse_json(args_of(state, call).value_or("{}"));
  return world::text_of(*args, "op");
}

void Trial::post_decision(Position call, const std::string& op) {
  asked_.insert(op);
  const bool landed = !world_.count(op).effects.empty();
  const auto store = must(open_store(location()));
  must(Mail(*store, id_)
           .resolve(mint<MessageTag>(random_ids()), call,
                    {.as = landed ? Decision::As::succeeded : Decision::As::failed,
                     .result = landed ? "it was done" : "it was not done",
                     .who = "the judge",
                     .why = "asked the world"}));
}

void Trial::judge_effects() {
  for (const std::string& op : task_.ops) {
    const auto effects = world_.count(op).effects.size();
    if (effects > 1) wrong(fmt::format("{} took effect {} times", op, effects));
    // What nobody can tell, somebody was asked about.
    if (effects == 0 && !asked_.contains(op)) wrong(op + " never took effect");
  }
}

void Trial::judge_ledger(const std::vector<Call>& calls, const State& state) {
  std::set<std::string> known;
  std::set<std::string> done;
  for (const Call& call : calls) {
    const std::string op = op_in(find_message(state, call.args), call.provider_id);
    known.insert(op);
    if (call.state == CallState::succeeded) done.insert(op);
  }
  for (const Call& call : calls) {
    if (is_open(call.state)) {
      wrong(fmt::format("call {} is still {}", call.position, to_string(call.state)));
    }
    if (call.effect == EffectClass::read_only) continue;
    const std::string op = op_in(find_message(state, call.args), call.provider_id);
    if (op.empty()) continue;  // The world has no part in it.
    const bool is_done = !world_.count(op).effects.empty();
    if (call.state == CallState::succeeded && !is_done) {
      wrong(op + " is settled, and the world knows nothing");
    }
    // It may have been asked for again.
    const bool was_done = is_done && !done.contains(op);
    if (call.state == CallState::failed && was_done && asked_.contains(op)) {
      wrong(op + " is said to have failed, and the world has it");
    }
  }
  for (const auto& tally : world_.all()) {
    const bool is_bought = tally.op.starts_with("response-");
    if (!is_bought && !known.contains(tally.op)) wrong(tally.op + " is no call of the session");
  }
}

void Trial::judge_money(const State& state) {
  std::int64_t paid = 0;
  for (const auto& tally : world_.all()) {
    if (!tally.op.starts_with("response-")) continue;
    paid += response_micros * static_cast<std::int64_t>(tally.effects.size());
  }
  const BudgetTotals& totals = state.budget.totals;
  if (totals.recorded() < paid) {
    wrong(fmt::format("{} was paid, and {} is recorded", paid, totals.recorded()));
  }
  const auto whole = static_cast<std::int64_t>(task_.responses + repeats_) * response_micros;
  if (totals.spent != whole) {
    wrong(fmt::format("{} is known to be spent instead of {}", totals.spent, whole));
  }
}

// Each call of the script has been told what became of it, once.
void Trial::judge_conversation(const State& state) {
  const auto conversation = provider_messages(state);
  if (!is_paired(conversation)) wrong("its conversation is not paired");
  const auto said = std::ranges::count(conversation, Role::assistant, &Message::role);
  const std::size_t due = task_.responses + repeats_;
  if (said != static_cast<std::ptrdiff_t>(due)) {
    wrong(fmt::format("{} responses instead of {}", said, due));
  }
  if (text_of(conversation.back()) != task_.answer) wrong("the answer is not the last word");
}

void Trial::judge_task(const State& state, const std::vector<Entry>& log) {
  if (task_.complaints == nullptr) return;
  for (const std::string& complaint :
       task_.complaints({.state = state, .log = log, .desk = desk_.path().string()})) {
    wrong(complaint);
  }
}

}  // namespace perdure::agents
