// The course of a life: chaos for a while, then calm.

#include "simulation/life.hpp"

#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/api/sha256.hpp"
#include "doubles/must.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/state_details.hpp"
#include "simulation/chance.hpp"
#include "simulation/kinds.hpp"
#include "simulation/process.hpp"

namespace perdure::simulation {
namespace {

constexpr int chaos_steps = 60;
constexpr int calm_steps = 200;

Policy draw_policy(Dice& dice) {
  Policy policy;
  policy.on_doubt = dice.chance(40) ? OnDoubt::tell_model : OnDoubt::ask;
  policy.permit = [](const State&, const ProposedCall& call) {
    const Kind* kind = find_kind(call.call().name);
    const bool is_asked = kind != nullptr && kind->needs_approval;
    return is_asked ? PermitDecision::ask("its kind") : PermitDecision::allow();
  };
  policy.cadence.at = static_cast<Cadence::At>(dice.below(3));
  policy.cadence.turns = 2;
  return policy;
}

// Each store has its own.
std::string without_loss_token(const std::string& body) {
  constexpr std::string_view key = "\"loss_token\":\"";
  const std::size_t begin = body.find(key);
  if (begin == std::string::npos) return body;
  const std::size_t value = begin + key.size();
  return body.substr(0, value) + body.substr(body.find('"', value));
}

}  // namespace

Life::Life(std::uint64_t seed, const Backend& backend)
    : seed_(seed),
      dice_(dice_for(seed, "life")),
      ids_(seed),
      home_(backend, memory_folder()),
      store_(must(
          open_store(home_.location(),
                     {.durability = Durability::process, .clock = &clock_, .ids = &store_ids_}))),
      world_(seed, clock_),
      model_(seed),
      policy_(draw_policy(dice_)),
      has_jumps_(dice_.chance(15)),
      judge_(*store_, world_, calls_, prices_) {
  if (dice_.chance(25)) {
    budget_ = static_cast<std::int64_t>(dice_.between(3, 15)) * reserve_micros;
  }
  auto actor = std::make_unique<Actor>();
  actor->id = SessionId::parse(fmt::format("life-{}", seed)).value();
  be_born(*actor);
  actors_.push_back(std::move(actor));
}

Life::~Life() {
  for (const auto& actor : actors_) actor->process.reset();
}

void Life::hear_the_world() {
  for (std::string& news : world_.take_news()) story_.push_back(std::move(news));
}

void Life::complain(const std::string& what) {
  const std::lock_guard lock(complaining_);
  complaints_.push_back(what);
}

void Life::live() {
  const auto chaos = dice_.between(5, chaos_steps);
  for (std::uint64_t i = 0; i < chaos && complaints_.empty(); ++i) {
    Actor& actor = *actors_[dice_.below(actors_.size())];
    if (!actor.is_done) {
      step(actor);
    } else if (dice_.chance(20)) {
      remove(actor);
    }
  }
  calm_down();
  // Not an iterator: a life may still grow.
  for (std::size_t i = 0; i < actors_.size(); ++i) {
    Actor& actor = *actors_[i];
    for (int left = calm_steps; left > 0 && !actor.is_done && complaints_.empty(); --left) {
      step(actor);
    }
    if (!actor.is_done && complaints_.empty()) complain("it never comes to its end");
  }
  for (const auto& actor : actors_) {
    if (!complaints_.empty()) return;
    judge_.judge_end(actor->id);
    judge(*actor);
  }
}

void Life::calm_down() {
  say("-- calm --");
  is_calm_ = true;
  world_.calm_down();
  for (const auto& actor : actors_) {
    if (!actor->process) continue;
    actor->process->store.be_well();
    actor->process->ambush = Ambush::none;
  }
}

void Life::step(Actor& actor) {
  clock_.advance(Duration(dice_.below(2000)));
  if (actor.process && (is_calm_ || dice_.chance(80)))
    std::ignore = actor.process->runtime->renew();
  if (!is_calm_ && depth_ == 0) befall(actor);
  if (actor.is_done) return;
  if (!actor.process || !actor.process->session) {
    take_up(actor);
  } else {
    advance(actor, *actor.process);
  }
  judge(actor);
}

void Life::judge(Actor& actor) {
  const bool is_thorough = is_calm_ ? actor.is_done : dice_.chance(30);
  if (is_thorough && store_->sessions().read(actor.id)) {
    judge_.judge_session(actor.id, actor.books);
    judge_.judge_effects();
    check_replays(actor);
  }
  const Process* process = actor.process.get();
  const bool is_live = process != nullptr && process->session && !process->is_unsure;
  if (is_live && dice_.chance(40)) judge_.judge_live(actor.id, process->session->state());
  if (is_live && !process->store.is_dead()) {
    const auto row = must(store_->sessions().read(actor.id));
    const bool is_owner = row.holder && row.holder->worker == process->store.worker();
    if (!is_owner) complain("a process lost its session, and nobody took it over");
  }
  for (const auto& outdated : actor.outdated) {
    if (outdated->store.has_intruded()) complain("a process that was overtaken changed the log");
  }
  for (const std::string& complaint : judge_.take_complaints()) complain(complaint);
}

void Life::start_process(Actor& actor) {
  auto process = std::make_unique<Process>(*store_, graves_, ++processes_);
  if (!is_calm_) plan_mishaps(*process);
  auto runtime = Runtime::start(process->store, {.host = "here",
                                                 .pid = static_cast<std::int64_t>(processes_),
                                                 .lease_time = lease_time,
                                                 .renews_itself = false,
                                                 .tools = tools_for(actor, *process),
                                                 .policy = policy_,
                                                 .clock = &clock_,
                                                 .ids = &ids_});
  process->runtime = must(std::move(runtime));
  actor.process = std::move(process);
}

void Life::plan_mishaps(Process& process) {
  if (dice_.chance(60)) {
    const auto mishap = static_cast<Mishap>(dice_.between(1, 5));
    const auto commit = dice_.between(1, 10);
    process.store.plan(commit, mishap, dice_.between(1, 6));
    say("process {}: {} at commit {}", process.number, to_string(mishap), commit);
  }
  if (dice_.chance(20)) process.store.plan_read(dice_.between(1, 20));
  if (dice_.chance(40)) {
    process.ambush = static_cast<Ambush>(dice_.between(1, 5));
    process.ambush_in = dice_.between(1, 4);
  }
}

void Life::take_up(Actor& actor) {
  if (!actor.process) start_process(actor);
  Process& process = *actor.process;
  // Nobody may have heard that it was forked.
  if (const auto state = read_state(*store_, actor.id, Point::head());
      state && state->details->origin) {
    actor.root = root_of(*state->details->origin, actor.books.name);
    actor.books.is_fork = must(store_->sessions().read(actor.id)).parent.has_value();
  }
  auto resumed = process.runtime->resume(actor.id);
  if (resumed) {
    process.session.emplace(std::move(resumed->session));
    process.waiting = resumed->report.calls.waiting;
    process.refusals = 0;
    process.bought.reset();
    say("process {} takes {} up: {} entries, {} run, {} verified{}", process.number,
        actor.id.text(), resumed->report.entries, resumed->report.calls.run,
        resumed->report.calls.verified, resumed->report.lost_a_response ? ", a response lost" : "");
    return;
  }
  const ErrorCode code = resumed.error().code;
  if (code == ErrorCode::not_found && begin(actor, process)) return;
  if (code == ErrorCode::not_found) return;
  if (code == ErrorCode::lease_held) return wait_out_lease(actor);
  refused(actor, process, "resume", resumed.error());
}

bool Life::begin(Actor& actor, Process& process) {
  auto session = process.runtime->create({.id = actor.id, .budget_micros = budget_});
  if (!session) {
    refused(actor, process, "create", session.error());
    return false;
  }
  say("process {} begins {}", process.number, actor.id.text());
  process.session.emplace(*std::move(session));
  return true;
}

// Its owner is dead, and nobody on this machine can know.
void Life::wait_out_lease(Actor& actor) {
  say("{} is held: the lease is waited out", actor.id.text());
  clock_.advance(lease_time);
  std::ignore = actor.process->runtime->renew();
}

void Life::refused(Actor& actor, Process& process, std::string_view what, const Error& error) {
  say("process {}: {}: {}: {}", process.number, what, to_string(error.code), error.message);
  const ErrorCode code = error.code;
  if (process.store.is_dead()) {
    if (actor.process.get() == &process) bury(actor);
    return;
  }
  const bool may_be = code == ErrorCode::unavailable || code == ErrorCode::commit_unknown ||
                      code == ErrorCode::lease_lost;
  // Who did not find out first learns it now.
  const bool has_stopped = process.session && process.session->status() != Status::active &&
                           process.session->status() != Status::waiting;
  // A call that it wanted to decide about may be over.
  const bool is_over = code == ErrorCode::not_found && process.is_unsure;
  if (is_over || (code == ErrorCode::conflict && (has_stopped || process.is_unsure))) {
    process.is_unsure = false;
    return;
  }
  if (!may_be && !process.store.is_outdated()) {
    return complain(fmt::format("{} gives {}: {}", what, to_string(code), error.message));
  }
  if (code == ErrorCode::commit_unknown) process.is_unsure = true;
  if (process.store.is_outdated()) return;
  std::ignore = process.runtime->renew();
  if (++process.refusals > 6) {
    say("process {} gives up", process.number);
    actor.process.reset();
  }
}

void Life::bury(Actor& actor) {
  const auto dead = std::move(actor.process);
  const auto row = store_->sessions().read(actor.id);
  const bool is_noticed = dice_.chance(60);
  say("process {} is dead{}", dead->number, is_noticed ? ", and that is known" : "");
  if (!is_noticed) return;
  if (row && row->holder && row->holder->worker == dead->store.worker()) {
    Holder holder = *row->holder;
    holder.gone = true;
    holder.alive = false;
    graves_[actor.id.text()] = holder;
  }
  must(store_->ownership().retire(dead->store.worker()));
}

std::vector<std::string> Life::logs() {
  std::vector<std::string> lines;
  for (const auto& actor : actors_) {
    const auto entries = store_->log().read(actor->id, {});
    if (!entries) continue;
    for (const Entry& entry : *entries) {
      lines.push_back(fmt::format("{}:{} {} {} {}", actor->id.text(), entry.position, entry.channel,
                                  entry.kind, without_loss_token(entry.body.bytes())));
    }
  }
  return lines;
}

std::string Life::digest() {
  Sha256 hash;
  for (const auto& actor : actors_) {
    const auto entries = store_->log().read(actor->id, {});
    if (!entries) continue;
    for (const Entry& entry : *entries) {
      hash.update_number(entry.position);
      hash.update_sized(entry.channel);
      hash.update_sized(entry.kind);
      hash.update_sized(without_loss_token(entry.body.bytes()));
      hash.update_sized(to_iso8601(entry.at));
    }
    for (const Call& call : must(store_->ledger().list({.session = actor->id}))) {
      hash.update_sized(fmt::format("{} {} {}", call.position, to_string(call.state), call.fence));
    }
  }
  for (const Effect& effect : world_.effects()) hash.update_sized(effect.sent.operation);
  return to_hex(hash.finish());
}

}  // namespace perdure::simulation
