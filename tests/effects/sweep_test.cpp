// Death at every write of the store and at every step on the way to the world and back, and
// again during recovery. The world is asked what really happened.

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <iostream>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "crash/child_process.hpp"
#include "doubles/must.hpp"
#include "doubles/temp_folder.hpp"
#include "effects/play.hpp"
#include "perdure/core/id_source.hpp"
#include "perdure/runtime/mail.hpp"
#include "perdure/runtime/session.hpp"
#include "perdure/store/open.hpp"
#include "session/held_session.hpp"
#include "world/script.hpp"
#include "world/world.hpp"

namespace perdure::effects {
namespace {

/// Where a player dies; 0: it does not.
struct Death {
  std::uint64_t write = 0;
  std::uint64_t moment = 0;
};

/// A store and its world, and what its players said.
class Trial {
 public:
  explicit Trial(Manner manner) : manner_(manner), world_(folder_.path()) {}

  /// Plays, dying as told. True: it came to its end, or to a question.
  bool play(const Death& death) {
    ChildProcess player("effects_player",
                        {file_, world_.socket(), std::string(to_string(manner_)),
                         std::to_string(death.write), std::to_string(death.moment)});
    for (const std::string& line : player.read_to_end()) hear(line);
    const Ending ending = player.wait();
    if (!ending.is_clean() && !ending.was_killed()) wrong(fmt::format("it ended with {}", ending.text()));
    return ending.is_clean();
  }

  /// Plays on, and answers questions truthfully, until it is done.
  void finish() {
    for (int runs = 0; runs < 20 && !is_done_; ++runs) {
      waits_.reset();
      play({});
      if (waits_) decide(*waits_);
    }
    if (!is_done_) wrong("it never ended");
  }

  void judge() {
    for (const auto& call : world::scripted_calls()) {
      const auto tally = world_.count(call.op);
      const auto effects = static_cast<int>(tally.effects.size());
      if (effects > call.effects_max()) wrong(fmt::format("{} took effect {} times", call.op, effects));
      const bool may_be_missing =
          manner_ == Manner::goes_on && call.effect == EffectClass::unsafe;
      if (effects < call.effects_max() && !may_be_missing) wrong(call.op + " never took effect");
    }
    judge_ledger();
    judge_money();
  }

  [[nodiscard]] const std::vector<std::string>& complaints() const { return complaints_; }
  [[nodiscard]] Death points() const { return points_; }

 private:
  void wrong(const std::string& what) { complaints_.push_back(what); }

  void hear(const std::string& line) {
    if (line.starts_with("asking ") && answered_.contains(line.substr(7))) {
      wrong(line.substr(7) + " was bought and committed, and is bought again");
    }
    if (line.starts_with("answered ")) answered_.insert(line.substr(9));
    if (line.starts_with("waits ")) waits_ = std::stoull(line.substr(6));
    if (line.starts_with("failed ")) wrong(line);
    if (line.starts_with("done ")) {
      is_done_ = true;
      const auto space = line.find(' ', 5);
      points_ = {.write = std::stoull(line.substr(5, space - 5)),
                 .moment = std::stoull(line.substr(space + 1))};
    }
  }

  // As a person would who looks it up.
  void decide(Position call) {
    const auto store = must(open_store(file_));
    const State state = must(read_state(*store, id_, Point::head()));
    const auto open = state.open_calls.find(call);
    if (open == state.open_calls.end()) return wrong("it waits for a call that is not open");
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

  void judge_ledger() {
    const auto store = must(open_store(file_));
    const State state = must(read_state(*store, id_, Point::head()));
    for (const Call& call : must(store->ledger().list({.session = id_}))) {
      const bool is_open = call.state == CallState::intended ||
                           call.state == CallState::dispatched ||
                           call.state == CallState::in_doubt;
      if (is_open) wrong(fmt::format("call {} is still {}", call.position, to_string(call.state)));
      if (call.state != CallState::succeeded || call.effect == EffectClass::read_only) continue;
      const Message* message = find_message(state, call.args);
      const std::string op = message == nullptr ? "" : op_in(*message, call.provider_id);
      if (world_.count(op).effects.empty()) wrong(op + " is settled, and the world knows nothing");
    }
  }

  static std::string op_in(const Message& message, const std::string& provider_id) {
    for (const Block& block : message.blocks) {
      const auto* call = std::get_if<ToolCallBlock>(&block);
      if (call == nullptr || call->id != provider_id) continue;
      return world::text_of(parse_json(call->args).value(), "op");
    }
    return "";
  }

  void judge_money() {
    std::int64_t paid = 0;
    for (const auto& tally : world_.all()) {
      if (!tally.op.starts_with("response-")) continue;
      paid += response_micros * static_cast<std::int64_t>(tally.effects.size());
    }
    const auto store = must(open_store(file_));
    const State state = must(read_state(*store, id_, Point::head()));
    if (state.budget.totals.recorded() < paid) {
      wrong(fmt::format("{} was paid, and {} is recorded", paid, state.budget.totals.recorded()));
    }
  }

  const Manner manner_;
  const TempFolder folder_ = TempFolder::in_memory();
  const std::string file_ = folder_.file("store.db");
  const SessionId id_ = SessionId::parse("the-session").value();
  World world_;
  std::set<std::string> answered_;
  std::optional<Position> waits_;
  bool is_done_ = false;
  Death points_;
  std::vector<std::string> complaints_;
};

class EffectsSweep : public testing::TestWithParam<Manner> {
 protected:
  void try_deaths(const std::vector<Death>& deaths) {
    Trial trial(GetParam());
    std::string what;
    for (const Death& death : deaths) {
      what += fmt::format(" write {} moment {};", death.write, death.moment);
      trial.play(death);
    }
    trial.finish();
    trial.judge();
    ++places_;
    for (const std::string& complaint : trial.complaints()) {
      if (++violations_ <= 10) ADD_FAILURE() << "death at" << what << " " << complaint;
    }
  }

  Death all_points() {
    Trial trial(GetParam());
    trial.finish();
    trial.judge();
    EXPECT_TRUE(trial.complaints().empty()) << trial.complaints().front();
    return trial.points();
  }

  ~EffectsSweep() override {
    std::cout << fmt::format("effects: {}: {} deaths, {} violations\n", to_string(GetParam()),
                             places_, violations_);
  }

 private:
  int places_ = 0;
  int violations_ = 0;
};

TEST_P(EffectsSweep, NoDeathAtAWriteDoublesOrLosesAnEffect) {
  const Death last = all_points();
  ASSERT_GT(last.write, 20U);
  for (std::uint64_t write = 1; write <= last.write; write += 1) try_deaths({{.write = write}});
}

TEST_P(EffectsSweep, NoDeathOnTheWayToTheWorldDoublesOrLosesAnEffect) {
  const Death last = all_points();
  ASSERT_GT(last.moment, 20U);
  for (std::uint64_t moment = 1; moment <= last.moment; ++moment) try_deaths({{.moment = moment}});
}

TEST_P(EffectsSweep, NoDeathDuringRecoveryDoes) {
  const Death last = all_points();
  for (std::uint64_t moment = 2; moment <= last.moment; moment += 3) {
    for (const std::uint64_t again : {1U, 3U}) {
      try_deaths({{.moment = moment}, {.moment = again}});
    }
    try_deaths({{.moment = moment}, {.write = moment}});
  }
}

INSTANTIATE_TEST_SUITE_P(Every, EffectsSweep,
                         testing::Values(Manner::goes_on, Manner::reissues, Manner::rewords),
                         [](const auto& named) { return std::string(to_string(named.param)); });

}  // namespace
}  // namespace perdure::effects
