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
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
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
      return fmt::format("{} {}:{}", kind.name, actor.id.text(), call);
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
            .session = actor.id,
            .call = call.call,
            .attempt = call.attempt,
            .operation = operation_of(actor, kind, call.args, call.call),
            .key = call.key};
  check_run(process, sent, call);
  if (kind.is_read()) return world_.send(sent);
  if (kind.repeat != Repeat::each_call) check_twins(sent);
  check_blocking(sent);
  calls_.note_run({actor.id.text(), call.call}, kind, sent.operation);
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

void Life::check_run(const Process& process, const Sent& sent, const CallContext& call) {
  if (process.store.is_outdated()) {
    complain(fmt::format("a process that was overtaken starts {}", sent.operation));
  }
  const auto row = store_->ledger().read(sent.session, sent.call);
  const bool is_dispatched = row && row->state == CallState::dispatched &&
                             row->attempts == call.attempt && row->fence == call.fence;
  if (!is_dispatched) complain(sent.operation + " is run without being dispatched");
}

void Life::check_twins(const Sent& sent) {
  for (const auto& [call, runs] : calls_.all()) {
    const bool is_itself = call.first == sent.session.text() && call.second == sent.call;
    if (is_itself || runs.operation != sent.operation) continue;
    const auto row = must(store_->ledger().read(SessionId::parse(call.first).value(), call.second));
    if (row.state == CallState::failed) continue;
    complain(fmt::format("{} is run by {}:{} while {} has it, {}", sent.operation,
                         sent.session.text(), sent.call, call_name(row.session, row.position),
                         to_string(row.state)));
  }
}

// While a call of a tool is in doubt, no other of that tool is made in the session.
void Life::check_blocking(const Sent& sent) {
  for (const Call& row : must(store_->ledger().list({.session = sent.session}))) {
    const bool is_other = row.position != sent.call && row.tool == sent.kind->name;
    if (!is_other || row.state != CallState::in_doubt) continue;
    complain(fmt::format("{} is run while {} is in doubt", sent.operation,
                         call_name(row.session, row.position)));
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
