// What comes from outside: mail, clocks, other processes, forks.

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <memory>
#include <string>
#include <utility>

#include "doubles/must.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "runtime/api/state_details.hpp"
#include "runtime/writer/session_writer.hpp"
#include "simulation/kinds.hpp"
#include "simulation/life.hpp"
#include "simulation/process.hpp"

namespace perdure::simulation {

void Life::befall(Actor& actor) {
  if (!dice_.chance(25)) return;
  Process* process = actor.process.get();
  const bool is_open = process != nullptr && process->session.has_value();
  if (dice_.chance(8)) return remove(actor);
  if (is_open && dice_.chance(12)) return open_again(actor, *process);
  const auto roll = dice_.below(100);
  if (roll < 15) {
    const Duration by(dice_.below(2 * static_cast<std::uint64_t>(lease_time.count())));
    say("{} ms pass", by.count());
    clock_.advance(by);
  } else if (roll < 20 && has_jumps_) {
    say("the wall clock is set back");
    clock_.set_wall(clock_.now() - Duration(dice_.below(600'000)));
  } else if (roll < 35) {
    post(actor);
  } else if (roll < 45 && is_open) {
    overtake(actor);
  } else if (roll < 60) {
    go_on_outdated(actor);
  } else if (roll < 68 && is_open) {
    say("process {} lets go", process->number);
    actor.process.reset();
  } else if (roll < 74 && is_open) {
    say("process {} dies", process->number);
    process->store.die();
    bury(actor);
  } else if (roll < 84 && is_open) {
    scribble(actor, *process);
  } else if (roll < 92 && is_open) {
    fork(actor, *process);
  } else if (is_open) {
    rewind(actor, *process);
  }
}

// The process is stopped past its lease, and does not know.
void Life::overtake(Actor& actor) {
  say("process {} is overtaken", actor.process->number);
  clock_.advance(lease_time + Duration(1));
  actor.outdated.push_back(std::move(actor.process));
  take_up(actor);
  // From here on: whoever came is the owner, also if it died at once.
  const auto row = must(store_->sessions().read(actor.id));
  MortalStore& before = actor.outdated.back()->store;
  const bool is_taken = !row.holder || row.holder->worker != before.worker();
  if (is_taken) before.outdate();
}

void Life::go_on_outdated(Actor& actor) {
  if (actor.outdated.empty()) return;
  Process& process = *actor.outdated[dice_.below(actor.outdated.size())];
  if (!process.session || process.store.is_dead()) return;
  say("process {} goes on", process.number);
  if (dice_.chance(50)) std::ignore = process.runtime->renew();
  Session& session = *process.session;
  bool is_done = false;
  switch (dice_.below(5)) {
    case 0:
      is_done = session.append(user_says("late")).has_value();
      break;
    case 1:
      std::ignore = session.run_calls();
      break;
    case 2:
      is_done = session.checkpoint().has_value();
      break;
    case 3:
      is_done = session.state().details->request &&
                session.record_response(assistant_says("late")).has_value();
      break;
    default:
      is_done = !session.state().details->request && session.record_request().has_value();
      break;
  }
  if (is_done && process.store.is_outdated()) complain("a process that was overtaken wrote");
}

void Life::post(Actor& actor) {
  if (!store_->sessions().read(actor.id)) return;
  Mail mail(*store_, actor.id);
  const MessageId id = mint<MessageTag>(ids_);
  const auto call = static_cast<Position>(dice_.between(1, 40));
  const auto roll = dice_.below(100);
  say("mail for {}: {}", actor.id.text(), roll);
  if (roll < 40) {
    must(mail.say(id, user_says("and another thing")));
  } else if (roll < 60) {
    must(mail.pause(id, "a person", "wait"));
  } else if (roll < 75) {
    must(mail.cancel(id, "a person", "enough"));
  } else {
    // Of a call that may be over, or nobody asked about. To refuse is always safe.
    must(mail.approve(id, call, false, "a person", "no"));
  }
  Process* process = actor.process.get();
  if (process == nullptr || !process->session || dice_.chance(30)) return;
  const auto taken = process->session->take_inbox();
  if (!taken) refused(actor, *process, "take_inbox", taken.error());
}

void Life::scribble(Actor& actor, Process& process) {
  Session& session = *process.session;
  const auto done = [&](const auto& result) {
    if (!result) refused(actor, process, "a note", result.error());
  };
  switch (dice_.below(5)) {
    case 0:
      return done(session.append("notes", Body::from_text("{\"n\":1}")));
    case 1:
      return done(session.set("mood", Body::from_text("\"good\"")));
    case 2:
      return done(session.count("things"));
    case 3:
      return done(session.checkpoint({.reason = "asked"}));
    default:
      return done(session.set(Setup{.model = fmt::format("sim-{}", dice_.below(9))}));
  }
}

Point Life::any_point(const Actor& actor) {
  const auto row = must(store_->sessions().read(actor.id));
  const auto roll = dice_.below(3);
  if (roll == 0 && row.version > 0) return Point::version(dice_.between(1, row.version));
  if (roll == 1) {
    const auto line = must(store_->log().read(actor.id, {}));
    if (!line.empty()) return Point::position(dice_.pick(line).position);
  }
  return Point::head();
}

void Life::fork(Actor& actor, Process& process) {
  // The id of one that was deleted, or a new one.
  const auto gone = std::ranges::find_if(actors_, [&](const auto& each) {
    return each->lives > 1 && !each->process && !store_->sessions().read(each->id);
  });
  if (gone == actors_.end() && actors_.size() >= 3) return;
  std::unique_ptr<Actor> fresh;
  if (gone == actors_.end()) {
    fresh = std::make_unique<Actor>();
    fresh->id =
        SessionId::parse(fmt::format("{}-fork-{}", actors_[0]->id.text(), ++forks_)).value();
    be_born(*fresh);
  }
  Actor* const made = fresh ? fresh.get() : gone->get();
  const bool is_fresh = dice_.chance(40);
  const Point point = any_point(actor);
  const auto forked =
      process.runtime->fork(actor.id, point, {.id = made->id, .fresh_effects = is_fresh});
  if (!forked) return refused(actor, process, "fork", forked.error());
  say("{} is forked off at {}{}", made->id.text(), point.number(), is_fresh ? ", afresh" : "");
  made->books.is_fork = true;
  // A point of the parent may lie before the decision that its effects are its own.
  const auto origin = must(read_state(*store_, made->id, Point::head())).details->origin;
  made->root = origin ? root_of(*origin, made->books.name) : made->books.name;
  made->turns = must(store_->sessions().read(made->id)).tally.turns +
                static_cast<std::int64_t>(dice_.between(1, 2));
  if (fresh) actors_.push_back(std::move(fresh));
}

// By whoever else is in that process: through its runtime, or with a worker and a store object of its
// own; also when the lease of the one that has it is over.
void Life::open_again(Actor& actor, Process& process) {
  if (dice_.chance(30)) clock_.advance(lease_time + Duration(1));
  std::unique_ptr<Runtime> beside;
  if (dice_.chance(50)) {
    beside = must(Runtime::start(*store_, {.host = "here",
                                           .pid = static_cast<std::int64_t>(process.number),
                                           .lease_time = lease_time,
                                           .renews_itself = false,
                                           .tools = tools_for(actor, process),
                                           .policy = policy_,
                                           .clock = &clock_,
                                           .ids = &ids_}));
  }
  const auto opened = (beside ? beside : process.runtime)->resume(actor.id);
  say("process {} opens {} again{}", process.number, actor.id.text(), beside ? ", beside" : "");
  if (opened) return complain("a process has a session twice");
  const Error& error = opened.error();
  if (error.code == ErrorCode::unavailable) return;
  const bool is_told = error.code == ErrorCode::lease_held &&
                       error.message.find("this process") != std::string::npos;
  if (!is_told)
    complain(fmt::format("a second open gives {}: {}", to_string(error.code), error.message));
}

void Life::remove(Actor& actor) {
  actor.process.reset();
  const auto calls = store_->ledger().list({.session = actor.id});
  const auto removed = store_->upkeep().remove(actor.id);
  if (!removed) {
    const ErrorCode code = removed.error().code;
    const bool may_be = code == ErrorCode::not_found || code == ErrorCode::lease_held ||
                        code == ErrorCode::conflict;
    if (!may_be) complain("a session is not deleted: " + removed.error().message);
    return say("{} is not deleted: {}", actor.id.text(), to_string(code));
  }
  say("{} is deleted", actor.id.text());
  for (const Call& call : must(calls)) {
    calls_.note_end({actor.books.name, call.position}, call.state);
  }
  for (const auto& outdated : actor.outdated) outdated->store.outdate();
  graves_.erase(actor.id.text());
  ++actor.lives;
  be_born(actor);
}

void Life::be_born(Actor& actor) {
  actor.books = {.name = actor.lives == 1 ? actor.id.text()
                                          : fmt::format("{}~{}", actor.id.text(), actor.lives)};
  actor.root = actor.books.name;
  actor.turns = static_cast<std::int64_t>(dice_.between(1, 3));
  actor.is_done = false;
}

const std::string& Life::root_of(const Origin& origin, const std::string& otherwise) {
  return roots_.try_emplace(origin.nonce, otherwise).first->second;
}

void Life::rewind(Actor& actor, Process& process) {
  Session& session = *process.session;
  if (process.is_unsure || !own_calls(actor, process).empty()) return;
  judge_.judge_session(actor.id, actor.books);
  const Point point = any_point(actor);
  // Also if nobody hears that it was done.
  actor.books.asked_and_answered.clear();
  actor.books.committed.clear();
  const auto done = session.rewind(point);
  process.may_have_gone_back |= !done;
  if (!done) return refused(actor, process, "rewind", done.error());
  say("{} goes back to {}", actor.id.text(), point.number());
  process.bought.reset();
  process.waiting.reset();
  process.asks_ahead = session.state().details->request.has_value();
}

}  // namespace perdure::simulation
