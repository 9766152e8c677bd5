// A call of which an earlier attempt may have taken effect: what a later attempt says of itself, what
// could not be started and who could not be asked end it only where they may. The world counts business
// operations, and the model asks again whenever it is told that a call has failed.

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <future>
#include <gtest/gtest.h>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "contract/backends.hpp"
#include "dispatch/turns_fixture.hpp"
#include "doubles/must.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/upkeep.hpp"
#include "runtime/api/records.hpp"
#include "runtime/api/session.hpp"

namespace perdure {
namespace {

enum class First : std::uint8_t { killed, times_out, doubts, throws };
/// What every later attempt comes to, but for `fails_once`, whose third one works.
enum class Later : std::uint8_t {
  fails,
  fails_once,
  never,
  doubts,
  throws,
  times_out,
  tool_is_gone
};
/// What became of the call, before anybody decided.
enum class End : std::uint8_t { succeeded, failed, asked };

struct Case {
  EffectClass effect = EffectClass::unsafe;
  Repeat repeat = Repeat::each_call;
  bool has_landed = false;  ///< The first attempt took effect.
  First first = First::killed;
  Later later = Later::fails;
};

std::string words(const Case& one) {
  constexpr std::string_view firsts[] = {"killed", "timed out", "doubtful", "threw"};
  constexpr std::string_view laters[] = {"fails",  "fails once", "never",       "doubts",
                                         "throws", "times out",  "tool is gone"};
  return fmt::format("{} {}: attempt 1 {}landed, {}; then {}", to_string(one.effect),
                     to_string(one.repeat), one.has_landed ? "" : "not ",
                     firsts[static_cast<int>(one.first)], laters[static_cast<int>(one.later)]);
}

End expected(const Case& one) {
  const bool fails = one.later == Later::fails || one.later == Later::fails_once;
  switch (one.effect) {
    case EffectClass::read_only:
      return End::failed;
    case EffectClass::unsafe:
      return End::asked;
    case EffectClass::idempotent:
      if (one.later == Later::fails_once) return End::succeeded;
      return one.later == Later::never ? End::failed : End::asked;
    case EffectClass::verifiable:
      if (one.later == Later::tool_is_gone) return End::asked;
      if (one.has_landed) return End::succeeded;
      return fails || one.later == Later::never ? End::failed : End::asked;
  }
  return End::asked;
}

std::vector<Case> every_case() {
  std::vector<Case> cases;
  for (const auto effect : {EffectClass::read_only, EffectClass::idempotent,
                            EffectClass::verifiable, EffectClass::unsafe}) {
    for (const auto repeat :
         {Repeat::each_call, Repeat::once_per_session, Repeat::once_per_store}) {
      for (const bool has_landed : {false, true}) {
        for (const auto first : {First::killed, First::times_out, First::doubts, First::throws}) {
          for (const auto later : {Later::fails, Later::fails_once, Later::never, Later::doubts,
                                   Later::throws, Later::times_out, Later::tool_is_gone}) {
            // A tool that is believed does not say so of what happened.
            if (later == Later::never && has_landed) continue;
            // The same process goes on at once, with the same tools.
            if (later == Later::tool_is_gone && first != First::killed) continue;
            cases.push_back({effect, repeat, has_landed, first, later});
          }
        }
      }
    }
  }
  return cases;
}

ToolOutcome until_stopped(const CallContext& call) {
  std::mutex mutex;
  std::condition_variable_any asked;
  std::unique_lock lock(mutex);
  asked.wait(lock, call.stop, [] { return false; });
  return Doubtful{"it was ended"};
}

class UnresolvedTest : public TurnsTest {
 protected:
  // A request that has its key is answered as it was the first time.
  void land(const Case& one, const std::string& key) {
    const bool is_keyed = one.effect == EffectClass::idempotent;
    if (one.effect == EffectClass::read_only) return;
    if (!is_keyed || keys_seen.insert(key).second) ++effects;
  }

  ToolOutcome first_attempt(const Case& one, const CallContext& call) {
    if (one.has_landed) land(one, call.key);
    if (one.first == First::throws) throw std::runtime_error("line cut");
    return one.first == First::times_out ? until_stopped(call) : Doubtful{"line cut"};
  }
  ToolOutcome later_attempt(const Case& one, const CallContext& call) {
    switch (one.later) {
      case Later::fails_once:
        if (call.attempt > 2) break;
        return Failed{"the program did not start"};
      case Later::fails:
        return Failed{"the program did not start"};
      case Later::never:
        return Never{"no such account"};
      case Later::throws:
        throw std::runtime_error("line cut");
      case Later::times_out:
        return until_stopped(call);
      default:
        return Doubtful{"line cut"};
    }
    land(one, call.key);
    return Succeeded{"done"};
  }
  ToolOutcome attempt(const Case& one, const CallContext& call) {
    if (call.call == mishap && call.attempt == 1) return first_attempt(one, call);
    if (call.call == mishap) return later_attempt(one, call);
    land(one, call.key);
    return Succeeded{"done"};
  }

  Tool tool_for(const Case& one) {
    Tool made = tool("pay", one.effect == EffectClass::read_only
                                ? SideEffects{.read = true}
                                : SideEffects{.network = true, .mutate = true});
    made.repeat = one.repeat;
    made.honours_key = one.effect == EffectClass::idempotent;
    made.in_flight_max = Duration(1000);
    if (one.first == First::times_out || one.later == Later::times_out) made.timeout = Duration(1);
    if (one.effect == EffectClass::verifiable) {
      made.verify = [this](const VerifyContext&) -> Verdict {
        return effects > 0 ? Verdict(Landed{"done"}) : NotLanded{};
      };
    }
    behaviour["pay"] = [this, one](const CallContext& call) { return attempt(one, call); };
    return made;
  }

  void take_up(std::vector<Tool> with) {
    tools = std::move(with);
    restart();
    auto resumed = must(runtime->resume(id));
    session.emplace(std::move(resumed.session));
    report = resumed.report.calls;
  }

  // As long as nothing is needed but time.
  void run() {
    while (report.waiting && report.waiting->what == Waiting::For::time) {
      ASSERT_TRUE(report.waiting->until) << report.waiting->why;
      clock.advance(*report.waiting->until - clock.now() + Duration(1));
      must(runtime->renew());
      report = must(session->run_calls());
    }
  }

  // The first call, and what becomes of it by itself.
  End play(const Case& one) {
    effects = 0;
    args = fmt::format(R"({{"op":"{}"}})", ++number);
    session.reset();
    tools = {tool_for(one)};
    restart();
    session.emplace(must(runtime->create()));
    id = session->id();
    must(session->record_request({}, user_says("go")));
    must(session->record_response(asks_for({{"pay", args}})));
    const Call row = must(store->ledger().list({.session = id})).front();
    mishap = row.position;
    if (one.first == First::killed) {
      if (one.has_landed) land(one, row.key ? to_hex(*row.key) : "");
      auto left = tools;
      if (one.later == Later::tool_is_gone) left.clear();
      take_up(left);
    } else {
      report = must(session->run_calls());
    }
    run();
    if (report.waiting) return End::asked;
    return state_of(mishap) == CallState::succeeded ? End::succeeded : End::failed;
  }

  // A person tells the truth; the model asks again for what it is told has failed.
  void finish(const Case& one) {
    if (report.waiting) {
      take_up({tool_for(one)});
      run();
    }
    if (report.waiting) {
      const auto as = effects > 0 ? Decision::As::succeeded : Decision::As::failed;
      must(session->resolve(mishap, {.as = as, .result = "so it is", .who = "ann"}));
      report = must(session->run_calls());
    }
    take_up({tool_for(one)});
    if (state_of(mishap) == CallState::succeeded) return;
    must(session->record_request({}));
    must(session->record_response(asks_for({{"pay", args}})));
    report = must(session->run_calls());
    run();
    EXPECT_FALSE(report.waiting);
  }

  int effects = 0;
  int number = 0;
  Position mishap = 0;
  std::string args;
  std::set<std::string> keys_seen;
  CallsReport report;
};

TEST_P(UnresolvedTest, NoCombinationOfAttemptsMakesAnOperationTwice) {
  const std::vector<Case> cases = every_case();
  // Each opens a file again and syncs: there one of so many.
  const std::size_t stride = GetParam().survives() ? 11 : 1;
  for (std::size_t i = 0; i < cases.size(); i += stride) {
    const Case& one = cases[i];
    const End end = play(one);
    EXPECT_EQ(end, expected(one)) << words(one);
    finish(one);
    const int once = one.effect == EffectClass::read_only ? 0 : 1;
    EXPECT_EQ(effects, once) << words(one);
  }
}

TEST_P(UnresolvedTest, AVerifySpeaksOfTheAttemptsBeforeItAndOfNoLaterOne) {
  Tool pay = tool("pay", {.write = true});
  int asked = 0;
  pay.verify = [&](const VerifyContext&) -> Verdict {
    if (++asked == 1) return NotLanded{};
    return CannotTell{"two of that name"};
  };
  begin({pay});
  behaviour["pay"] = [](const CallContext& call) -> ToolOutcome {
    if (call.attempt < 3) return Doubtful{"line cut"};
    return Failed{"the program did not start"};
  };
  must(session->record_response(asks_for({{"pay", "{}"}})));
  ASSERT_TRUE(must(session->run_calls()).waiting);
  must(session->resolve(first_call(), {.as = Decision::As::retry, .who = "ann"}));

  EXPECT_TRUE(must(session->run_calls()).waiting);

  EXPECT_EQ(runs["pay"], 3);
  EXPECT_EQ(state_of(first_call()), CallState::in_doubt);
}

TEST_P(UnresolvedTest, AVerifyIsRememberedThroughADeath) {
  Tool pay = tool("pay", {.write = true});
  pay.verify = [](const VerifyContext&) -> Verdict { return NotLanded{}; };
  begin({pay});
  behaviour["pay"] = [](const CallContext& call) -> ToolOutcome {
    if (call.attempt == 1) return Doubtful{"line cut"};
    return Failed{"no such account"};
  };
  must(session->record_response(asks_for({{"pay", "{}"}})));
  EXPECT_FALSE(must(session->run_calls()).waiting);
  EXPECT_EQ(state_of(first_call()), CallState::failed);
  for (const Entry& entry : must(store->log().read(id, {.channel = "calls"}))) {
    if (entry.kind != "attempt") continue;
    const auto attempt = must(attempt_from_json(entry.body.bytes()));
    EXPECT_EQ(attempt.none_landed, attempt.number == 2);
  }
}

TEST_P(UnresolvedTest, WhatWasNotBegunSaysNothingOfAnEarlierAttempt) {
  Tool pay = tool("pay");
  pay.honours_key = true;
  std::stop_source stop;
  pay.end_leftovers = [&](const LeftoverContext&) -> Result<void> {
    stop.request_stop();
    return {};
  };
  begin({pay});
  behaviour["pay"] = [](const CallContext&) { return Doubtful{"line cut"}; };
  must(session->record_response(asks_for({{"pay", "{}"}})));

  must(session->run_calls(stop.get_token()));

  EXPECT_EQ(runs["pay"], 1);
  EXPECT_EQ(must(store->ledger().read(id, first_call())).attempts, 2);
  EXPECT_EQ(state_of(first_call()), CallState::in_doubt);
}

// What failed in another session counted when the first attempt began; that session may go since.
TEST_P(UnresolvedTest, AllAttemptsHaveOneKeyOfTheVendorThoughASessionIsRemovedMeanwhile) {
  Tool pay = tool("pay");
  pay.honours_key = true;
  pay.repeat = Repeat::once_per_store;
  begin({pay});
  behaviour["pay"] = [](const CallContext&) { return Failed{"no funds"}; };
  must(session->record_response(asks_for({{"pay", "{}"}})));
  must(session->run_calls());
  const SessionId first = id;
  begin({pay});
  behaviour["pay"] = [&](const CallContext& call) -> ToolOutcome {
    if (call.attempt > 1) return Succeeded{"paid"};
    must(store->upkeep().remove(first));
    return Doubtful{"line cut"};
  };
  must(session->record_response(asks_for({{"pay", "{}"}})));

  EXPECT_FALSE(must(session->run_calls()).waiting);

  ASSERT_EQ(keys["pay"].size(), 3U);
  EXPECT_EQ(keys["pay"][1], keys["pay"][0] + "-1");
  EXPECT_EQ(keys["pay"][2], keys["pay"][1]);
}

TEST_P(UnresolvedTest, AReadThatDoesNotStopIsAnErrorForTheModelAndHoldsNothingUp) {
  Tool look = tool("look", {.read = true});
  look.timeout = Duration(1);
  begin({look}, {.stop_patience = Duration(1)});
  std::promise<void> goes_on;
  behaviour["look"] = [&, opened = goes_on.get_future().share()](const CallContext&) {
    opened.wait();
    return Succeeded{"too late"};
  };
  must(session->record_response(asks_for({{"look", "{}"}})));

  EXPECT_FALSE(must(session->run_calls()).waiting);

  EXPECT_EQ(result_of(2), "no answer within 1 ms; it was asked to stop, and did not");
  EXPECT_EQ(must(store->sessions().read(id)).attention, 0);
  EXPECT_TRUE(session->record_request());
  goes_on.set_value();
}

TEST_P(UnresolvedTest, ACallThatWasAReadIsNotMadeByAToolThatNoLongerOnlyReads) {
  begin({tool("look", {.read = true}), tool("pay")},
        {.permit = [](const State&, const ProposedCall& call) {
          return call.call().name == "look" ? PermitDecision::ask("it is a rule")
                                            : PermitDecision::allow();
        }});
  must(session->record_response(asks_for({{"look", "{}"}})));
  must(session->run_calls());
  tools = {tool("look")};
  restart();

  const auto resumed = must(runtime->resume(id));

  EXPECT_EQ(resumed.report.calls.refused, 1U);
  EXPECT_EQ(runs["look"], 0);
}

INSTANTIATE_TEST_SUITE_P(Fast, UnresolvedTest,
                         testing::Values(Backend{"memory", Home::object},
                                         Backend{"sqlite", Home::file}),
                         [](const auto& named) { return named.param.name; });

}  // namespace
}  // namespace perdure
