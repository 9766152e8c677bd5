// The order of two lines of different processes is that of the uptimes in them.

#include "herd/herd.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <memory>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill is POSIX, not C++.
#include <string>
#include <utility>
#include <vector>

#include "crash/child_process.hpp"
#include "doubles/fake_clock.hpp"
#include "doubles/must.hpp"
#include "effects/play.hpp"
#include "herd/members.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/state_details.hpp"
#include "runtime/writer/session_writer.hpp"
#include "world/client.hpp"
#include "world/script.hpp"
#include "world/tools.hpp"
#include "world/wire.hpp"

namespace perdure::herd {
namespace {

constexpr int threads = 4;

OpenOptions patient() {
  OpenOptions options;
  options.write_wait = std::chrono::minutes(1);
  return options;
}

}  // namespace

Herd::Herd(std::string location, int sessions, int processes)
    : location_(std::move(location)), sessions_(sessions) {
  players_.resize(static_cast<std::size_t>(processes));
  for (std::size_t i = 0; i < players_.size(); ++i) start(i);
}

void Herd::start(std::size_t which) {
  players_[which] = std::make_unique<ChildProcess>(
      "herd_player", std::vector<std::string>{location_, world_.socket(), std::to_string(sessions_),
                                              std::to_string(threads), std::to_string(++seed_)});
}

bool Herd::hear(int lines) {
  const int enough = lines_ + lines;
  int silent = 0;
  // A process that has ended is silent at once, so this ends.
  while (lines_ < enough && silent < 500) {
    const int before = lines_;
    for (std::size_t i = 0; i < players_.size(); ++i) {
      while (lines_ < enough) {
        const auto line = players_[i]->read_line(std::chrono::milliseconds(10));
        if (!line) break;
        note(i, *line);
      }
    }
    silent = lines_ == before ? silent + 1 : 0;
  }
  return lines_ >= enough;
}

// A process that is stopped once its request is committed learns only after the purchase that another
// has answered it meanwhile. Nobody can prevent that; so a purchase counts from before that commit.
void Herd::note(std::size_t which, const std::string& line) {
  ++lines_;
  const std::size_t last = line.rfind(' ');
  const std::int64_t at = std::stoll(line.substr(last + 1));
  const std::string words = line.substr(0, last);
  const std::string rest = words.substr(std::min(words.size(), words.find(' ') + 1));
  if (words.starts_with("trouble ")) complaints_.push_back(words);
  if (words.starts_with("reserving ")) reserving_[{which, rest}] = at;
  if (words.starts_with("asking ")) {
    asked_[rest] = std::max(asked_[rest], reserving_[{which, rest}]);
  }
  if (words.starts_with("answered ")) answered_.emplace(rest, at);
}

void Herd::kill(std::size_t which) {
  players_[which]->kill();
  for (const std::string& line : players_[which]->read_to_end()) note(which, line);
  (void)players_[which]->wait();
}

void Herd::stop(std::size_t which) const { ::kill(players_[which]->pid(), SIGSTOP); }

void Herd::go_on(std::size_t which) const { players_[which]->go_on(); }

std::vector<std::string> Herd::finish() {
  while (hear(1)) {
  }
  for (const auto& player : players_) {
    const Ending ending = player->wait();
    if (!ending.is_clean()) complaints_.push_back("a player ended with " + ending.text());
  }
  const auto store = must(open_store(location_, patient()));
  play_to_the_end(*store);
  for (world::Tally& tally : world_.all()) {
    const std::string op = tally.op;
    seen_[op] = std::move(tally);
  }
  for (int number = 0; number < sessions_; ++number) judge(*store, number);
  return complaints_;
}

// All processes have ended, so that nothing is under way any more. The clock is moved past every
// wait.
void Herd::play_to_the_end(Store& store) {
  FakeClock clock(system_clock().now() + std::chrono::hours(1));
  const WorldClient world = world_.client();
  const auto runtime =
      must(Runtime::start(store, {.lease_time = std::chrono::minutes(10),
                                  .tools = must(Tools::of(world::every_tool(world))),
                                  .clock = &clock}));
  for (int number = 0; number < sessions_; ++number) {
    for (int runs = 0; runs < 20; ++runs) {
      const auto waits = effects::play({.runtime = *runtime,
                                        .session = session_of(number),
                                        .world = world,
                                        .clock = clock,
                                        .manner = manner_of(number),
                                        .say = [](const std::string&) {},
                                        .prefix = prefix_of(number)});
      if (!waits) wrong(number, "it cannot be ended: " + waits.error().message);
      if (!waits || !*waits) break;
      decide(store, number, (*waits)->call);
    }
  }
}

void Herd::decide(Store& store, int number, Position call) {
  const State state = must(read_state(store, session_of(number), Point::head()));
  const auto open = state.details->open_calls.find(call);
  if (open == state.details->open_calls.end()) {
    return wrong(number, "it waits for a call that is not open");
  }
  const auto args = parse_json(args_of(state, open->second).value_or("{}"));
  const std::string op = world::text_of(*args, "op");
  const bool landed = !world_.count(op).effects.empty();
  if (!landed) given_up_.insert(op);
  Mail mail(store, session_of(number));
  must(mail.resolve(mint<MessageTag>(random_ids()), call,
                    {.as = landed ? Decision::As::succeeded : Decision::As::failed,
                     .result = landed ? "it was done" : "it was not done",
                     .who = "the judge",
                     .why = "asked the world"}));
}

void Herd::judge(Store& store, int number) {
  const std::string prefix = prefix_of(number);
  for (const auto& call : world::scripted_calls(prefix)) {
    const auto effects = static_cast<int>(seen_[call.op].effects.size());
    if (effects > call.effects_max()) {
      wrong(number, fmt::format("{} took effect {} times", call.op, effects));
    }
    // The model that goes on does not ask for it again.
    const bool may_be_missing = manner_of(number) == effects::Manner::goes_on &&
                                (call.effect == EffectClass::unsafe || given_up_.contains(call.op));
    if (effects < call.effects_max() && !may_be_missing) wrong(number, call.op + " never happened");
  }
  std::int64_t paid = 0;
  for (const auto& [op, tally] : seen_) {
    if (!op.starts_with(prefix + "response-")) continue;
    paid += effects::response_micros * static_cast<std::int64_t>(tally.effects.size());
    const auto answered = answered_.find(op);
    if (answered != answered_.end() && asked_[op] > answered->second) {
      wrong(number, op + " was bought and committed, and is bought again");
    }
  }
  const State state = must(read_state(store, session_of(number), Point::head()));
  if (state.budget.totals.recorded() < paid) wrong(number, "more was paid than is recorded");
  for (const Call& call : must(store.ledger().list({.session = session_of(number)}))) {
    const bool is_open = call.state == CallState::intended || call.state == CallState::dispatched ||
                         call.state == CallState::in_doubt;
    if (is_open) wrong(number, fmt::format("call {} is still open", call.position));
  }
}

void Herd::wrong(int number, const std::string& what) {
  complaints_.push_back(fmt::format("{}: {}", session_of(number).text(), what));
}

}  // namespace perdure::herd
