// What a tool's run checks: that it was dispatched, by the one who may, and that nobody else
// holds its operation. And what befalls its process meanwhile.

#include <cstdint>
#include <fmt/format.h>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "doubles/must.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "runtime/api/state_details.hpp"
#include "simulation/books.hpp"
#include "simulation/kinds.hpp"
#include "simulation/life.hpp"
#include "simulation/process.hpp"
#include "simulation/world.hpp"

namespace perdure::simulation {
namespace {

std::string text_at(const Json& args, std::string_view name) {
  const Json* found = args.find(name);
  const std::string* text = found != nullptr ? found->as_string() : nullptr;
  return text != nullptr ? *text : std::string();
}

}  // namespace

Tools Life::tools_for(Actor& actor, Process& process) {
  std::vector<Tool> tools;
  for (const Kind& kind : all_kinds()) {
    Tool tool = declare(kind);
    tool.run = [this, &actor, &process, &kind](const CallContext& call) {
      return run_tool(actor, process, kind, call);
    };
    if (kind.has_verify()) {
      tool.verify = [this, &actor, &process, &kind](const VerifyContext& call) {
        return verify(actor, process, kind, call);
      };
    }
    // Where wall clocks jump, nobody can say when a vendor forgets.
    if (kind.key_window && has_jumps_) tool.key_window.reset();
    tools.push_back(std::move(tool));
  }
  return must(Tools::of(std::move(tools)));
}

std::string Life::operation_of(const Actor& actor, const Kind& kind, const Json& args,
                               Position call) const {
  std::string name = text_at(args, "op");
  if (!kind.has_business_key) name += "/" + text_at(args, "note");
  switch (kind.repeat) {
    case Repeat::each_call:
      return fmt::format("{} {}:{}", kind.name, actor.books.name, call);
    case Repeat::once_per_session:
      return fmt::format("{} {} in {}", kind.name, name, actor.root);
    case Repeat::once_per_store:
      return fmt::format("{} {}", kind.name, name);
  }
  return "";
}

ToolOutcome Life::run_tool(Actor& actor, Process& process, const Kind& kind,
                           const CallContext& call) {
  Sent sent{.kind = &kind,
            .session = actor.books.name,
            .call = call.call,
            .attempt = call.attempt,
            .operation = operation_of(actor, kind, call.args, call.call),
            .key = call.key};
  check_run(actor, process, sent, call);
  if (kind.is_read()) return world_.send(sent);
  if (kind.repeat != Repeat::each_call) check_twins(sent);
  check_blocking(actor, sent);
  calls_.note_run({sent.session, call.call}, kind, sent.operation);
  const bool opens = process.ambush == Ambush::opened_again && !is_calm_ && depth_ == 0;
  if (opens && --process.ambush_in == 0) {
    process.ambush = Ambush::none;
    open_again(actor, process);
  }
  if (strike(actor, process, Ambush::death_before_send, Ambush::overtaken_before_send)) {
    return Doubtful{"nobody hears this"};
  }
  sent.is_outdated = process.store.is_outdated();
  ToolOutcome outcome = world_.send(sent);
  strike(actor, process, Ambush::death_after_send, Ambush::overtaken_after_send);
  const auto* doubt = std::get_if<Doubtful>(&outcome);
  if (doubt != nullptr && call.call % 2 == 0) throw std::runtime_error(doubt->why);
  return outcome;
}

// True: the process is dead.
bool Life::strike(Actor& actor, Process& process, Ambush death, Ambush overtaken) {
  if (process.ambush == Ambush::none || is_calm_ || depth_ > 0) return false;
  if (process.ambush != death && process.ambush != overtaken) return false;
  if (--process.ambush_in > 0) return false;
  const bool kills = std::exchange(process.ambush, Ambush::none) == death;
  if (kills) {
    say("process {} dies in the middle of a run", process.number);
    process.store.die();
    return true;
  }
  ++depth_;
  overtake(actor);
  for (auto left = dice_.between(1, 6); left > 0 && !actor.is_done; --left) step(actor);
  --depth_;
  say("process {} wakes up, and goes on with its run", process.number);
  return false;
}

void Life::check_run(const Actor& actor, const Process& process, const Sent& sent,
                     const CallContext& call) {
  if (process.store.is_outdated()) {
    complain(fmt::format("a process that was overtaken starts {}", sent.operation));
  }
  const auto row = store_->ledger().read(actor.id, sent.call);
  const bool is_dispatched = row && row->state == CallState::dispatched &&
                             row->attempts == call.attempt && row->fence == call.fence;
  if (!is_dispatched) complain(sent.operation + " is run without being dispatched");
}

void Life::check_twins(const Sent& sent) {
  for (const auto& [call, runs] : calls_.all()) {
    const bool is_itself = call.first == sent.session && call.second == sent.call;
    if (is_itself || runs.operation != sent.operation) continue;
    const CallState state = judge_.state_of(call);
    if (state == CallState::failed) continue;
    complain(fmt::format("{} is run by {}:{} while {}:{} has it, {}", sent.operation, sent.session,
                         sent.call, call.first, call.second, to_string(state)));
  }
}

// While a call of a tool is in doubt, no other of that tool is made in the session.
void Life::check_blocking(const Actor& actor, const Sent& sent) {
  for (const Call& row : must(store_->ledger().list({.session = actor.id}))) {
    const bool is_other = row.position != sent.call && row.tool == sent.kind->name;
    if (!is_other || row.state != CallState::in_doubt) continue;
    complain(fmt::format("{} is run while {} is in doubt", sent.operation,
                         call_name(row.session, row.position)));
  }
}

void Life::check_replays(const Actor& actor) {
  const State state = must(read_state(*store_, actor.id, Point::head()));
  for (const Call& call : must(store_->ledger().list({.session = actor.id}))) {
    const Kind* kind = find_kind(call.tool);
    const Message* message = find_message(state, call.args);
    const bool is_replay = call.why.starts_with("a replay of ");
    if (!is_replay || kind == nullptr || kind->is_read() || message == nullptr) continue;
    for (const Block& block : message->blocks) {
      const auto* asked = std::get_if<ToolCallBlock>(&block);
      if (asked == nullptr || asked->id != call.provider_id) continue;
      const std::string operation =
          operation_of(actor, *kind, must(parse_json(asked->args)), call.position);
      if (!world_.has_landed(operation)) complain(operation + " is replayed, and was never done");
    }
  }
}

Verdict Life::verify(Actor& /*actor*/, Process& process, const Kind& /*kind*/,
                     const VerifyContext& call) {
  Verdict verdict = world_.verify(call.key);
  const bool dies = !is_calm_ && call.attempt == 2;
  if (dies && depth_ == 0) process.store.die();
  return verdict;
}

}  // namespace perdure::simulation
