// A session of the runtime that moves to another store in the middle of a turn: it goes on there, a
// call in doubt is verified, and its effect is there once.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <string>

#include "contract/backends.hpp"
#include "doubles/counting_ids.hpp"
#include "doubles/fake_clock.hpp"
#include "doubles/must.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/store/store.hpp"
#include "perdure/store/upkeep.hpp"
#include "runtime/api/session.hpp"
#include "store/api/seam.hpp"

namespace perdure {
namespace {

class MovedSession : public testing::TestWithParam<Backend> {
 protected:
  /// A bank that keeps what it was asked to do, and whose answer may get lost.
  Tool pay() {
    Tool tool{.name = "pay",
              .side_effects = SideEffects{.network = true, .mutate = true},
              .repeat = Repeat::once_per_session};
    tool.in_flight_max = std::chrono::seconds(60);
    tool.honours_key = honours_key;
    tool.attempts_max = is_answer_lost ? 1 : 3;
    tool.run = [this](const CallContext& call) -> ToolOutcome {
      if (reaches_the_bank) ++charges[call.key];
      return is_answer_lost ? ToolOutcome(Doubtful{.why = "no answer"})
                            : ToolOutcome(Succeeded{.content = "paid"});
    };
    tool.verify = [this](const VerifyContext& call) -> Verdict {
      if (is_answer_lost) return CannotTell{.why = "no answer"};
      return charges.contains(call.key) ? Verdict(Landed{.content = "paid"}) : Verdict(NotLanded{});
    };
    return tool;
  }

  std::unique_ptr<Runtime> start(Store& store) {
    RuntimeOptions options{.renews_itself = false, .tools = must(Tools::of({pay()}))};
    options.clock = &clock;
    options.ids = &ids;
    return must(Runtime::start(store, std::move(options)));
  }

  std::unique_ptr<Store> open(const StorePlace& place) {
    return must(open_store(place.location(), {.clock = &clock, .ids = &ids}));
  }

  /// A turn whose one call ends in doubt; then the process is gone.
  void play(Store& store) {
    const auto runtime = start(store);
    must(runtime->create({.id = id}));
    auto [session, report] = must(runtime->resume(id));
    must(session.record_request({}, user_says("Pay invoice 7.")));
    must(session.record_response(
        {.role = Role::assistant,
         .blocks = {ToolCallBlock{.id = "call_1", .name = "pay", .args = R"({"invoice": 7})"}}}));
    (void)session.run_calls();
    ASSERT_EQ(must(store.ledger().list({.session = id})).front().state, CallState::in_doubt);
  }

  CallState resume(Store& store) {
    const auto runtime = start(store);
    auto [session, report] = must(runtime->resume(id));
    (void)session.run_calls();
    return must(store.ledger().list({.session = id})).front().state;
  }

  FakeClock clock;
  CountingIds ids;
  std::map<std::string, int> charges;
  bool reaches_the_bank = true;
  bool is_answer_lost = true;
  bool honours_key = false;
  const SessionId id = must(SessionId::parse("invoice 7"));
  StorePlace from_place{GetParam()};
  StorePlace to_place{Backend{"sqlite", Home::file}};
};

INSTANTIATE_TEST_SUITE_P(EveryBackend, MovedSession, testing::ValuesIn(every_backend()),
                         [](const auto& tested) { return tested.param.name; });

TEST_P(MovedSession, IsVerifiedThereAndItsEffectIsThereOnce) {
  const auto from = open(from_place);
  const auto to = open(to_place);
  play(*from);
  must(move_sessions(*from, *to));
  is_answer_lost = false;

  const auto refused = start(*from)->resume(id);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::conflict);
  EXPECT_EQ(resume(*to), CallState::succeeded);
  ASSERT_EQ(charges.size(), 1U);
  EXPECT_EQ(charges.begin()->second, 1);
}

TEST_P(MovedSession, IsRetriedThereUnderTheSameKey) {
  honours_key = true;
  const auto from = open(from_place);
  const auto to = open(to_place);
  play(*from);
  const std::string key = charges.begin()->first;
  must(move_sessions(*from, *to));
  is_answer_lost = false;

  EXPECT_EQ(resume(*to), CallState::succeeded);

  ASSERT_EQ(charges.size(), 1U);
  EXPECT_EQ(charges[key], 2) << "the bank was asked twice, under one key";
}

// What is done once in its tree is done once, wherever the tree goes on.
TEST_P(MovedSession, HasTheNonceOfItsTree) {
  const auto from = open(from_place);
  const auto to = open(to_place);
  is_answer_lost = false;
  const auto nonce_in = [&](Store& store) { return must(origin_of(store, id)).value().nonce; };
  must(start(*from)->create({.id = id}));
  const std::string nonce = nonce_in(*from);
  must(move_sessions(*from, *to));

  EXPECT_FALSE(nonce.empty());
  EXPECT_EQ(nonce_in(*to), nonce);
}

TEST_P(MovedSession, IsNotRunAgainBeforeTheOldRequestCanNoLongerLand) {
  const auto from = open(from_place);
  const auto to = open(to_place);
  reaches_the_bank = false;
  play(*from);
  must(move_sessions(*from, *to));
  reaches_the_bank = true;
  is_answer_lost = false;

  EXPECT_EQ(resume(*to), CallState::in_doubt) << "the request may still be under way";
  EXPECT_TRUE(charges.empty());
  clock.advance(std::chrono::seconds(120));
  EXPECT_EQ(resume(*to), CallState::succeeded);
  EXPECT_EQ(charges.begin()->second, 1);
}

/// A paused fork in another store.
class CopiedSession : public MovedSession {
 protected:
  /// A person lets the copy go on; it is asked to pay the same invoice again.
  CallsReport pay_again(Store& store, const std::string& invoice) {
    const auto runtime = start(store);
    auto [session, report] = must(runtime->resume(copy));
    must(session.set_status({.status = Status::active}, "ann", "try it"));
    must(session.run_calls());
    must(session.append(user_says("Pay it.")));
    must(session.record_request({}));
    must(session.record_response(
        {.role = Role::assistant,
         .blocks = {ToolCallBlock{
             .id = "call_2", .name = "pay", .args = R"({"invoice": )" + invoice + "}"}}}));
    return must(session.run_calls());
  }

  const SessionId copy = must(SessionId::parse("copy"));
};

INSTANTIATE_TEST_SUITE_P(EveryBackend, CopiedSession, testing::ValuesIn(every_backend()),
                         [](const auto& tested) { return tested.param.name; });

TEST_P(CopiedSession, NeverRunsWhatItsSessionLeftUnresolved) {
  const auto from = open(from_place);
  const auto to = open(to_place);
  reaches_the_bank = false;
  play(*from);
  must(copy_session(*from, id, *to, {.id = copy}));
  EXPECT_EQ(must(to->sessions().read(copy)).status, Status::paused);
  EXPECT_FALSE(must(start(*to)->resume(copy)).session.run_calls()) << "it is paused";
  reaches_the_bank = true;
  is_answer_lost = false;

  const CallsReport report = pay_again(*to, "7");

  EXPECT_TRUE(charges.empty());
  ASSERT_TRUE(report.waiting) << "a person has to decide";
  EXPECT_THAT(must(to->ledger().list({.session = copy})), testing::SizeIs(1)) << "its own alone";
  EXPECT_TRUE(must(to->upkeep().check()).is_sound());
  clock.advance(std::chrono::seconds(120));
  EXPECT_EQ(resume(*from), CallState::succeeded) << "where the call stayed";
  EXPECT_EQ(charges.size(), 1U);
}

TEST_P(CopiedSession, ReplaysWhatWasDoneOnceInItsTree) {
  const auto from = open(from_place);
  const auto to = open(to_place);
  is_answer_lost = false;
  {
    const auto runtime = start(*from);
    must(runtime->create({.id = id}));
    auto [session, report] = must(runtime->resume(id));
    must(session.record_request({}, user_says("Pay invoice 7.")));
    must(session.record_response(
        {.role = Role::assistant,
         .blocks = {ToolCallBlock{.id = "call_1", .name = "pay", .args = R"({"invoice": 7})"}}}));
    must(session.run_calls());
  }
  must(copy_session(*from, id, *to, {.id = copy}));

  EXPECT_EQ(pay_again(*to, "7").replayed, 1U);

  ASSERT_EQ(charges.size(), 1U);
  EXPECT_EQ(charges.begin()->second, 1);
  EXPECT_EQ(must(origin_of(*to, copy)).value().nonce, must(origin_of(*from, id)).value().nonce);
}

}  // namespace
}  // namespace perdure
