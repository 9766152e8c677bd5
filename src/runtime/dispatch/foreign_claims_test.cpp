// A stranger's bundle says that an operation was done, under the key that a call here has: what it says
// is neither believed nor passed over until a person decides, on every backend.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "contract/backends.hpp"
#include "dispatch/turns_fixture.hpp"
#include "doubles/must.hpp"
#include "doubles/temp_folder.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/calls_report.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/session.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/bundle.hpp"
#include "perdure/store/copy.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/open.hpp"

namespace perdure {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class ForeignClaims : public TurnsTest {
 protected:
  ForeignClaims() {
    behaviour["pay"] = [this](const CallContext&) -> ToolOutcome {
      return Succeeded{is_stranger ? "refunded by a stranger" : "refunded"};
    };
  }

  Tool pay() {
    Tool made = tool("pay");
    made.repeat = Repeat::once_per_store;
    return made;
  }

  /// A store in which somebody refunded the order, or says so.
  void make_strange(bool removes = false) {
    is_stranger = true;
    strange = must(open_store("memory:", {.clock = &clock, .ids = &ids}));
    const auto theirs = must(Runtime::start(*strange, {.host = "there",
                                                       .pid = 8,
                                                       .renews_itself = false,
                                                       .tools = must(Tools::of({pay()})),
                                                       .clock = &clock,
                                                       .ids = &ids}));
    Session their_session = must(theirs->create());
    stranger = their_session.id();
    must(their_session.ask({}, user_says("go")));
    must(their_session.answer(asks_for({{"pay", R"({"order":1})"}})));
    must(their_session.run_calls());
    must(their_session.set_status({.status = Status::paused}));
    must(their_session.close());
    if (removes) must(strange->retention().remove(stranger));
    is_stranger = false;
    runs.clear();
  }

  void import(const ImportOptions& options = {}) {
    must(export_sessions(*strange, bundle));
    must(import_bundle(*store, bundle, options));
  }

  /// A call of our own for the same operation.
  CallsReport pay_here() {
    if (!session->state().request) must(session->ask({}));
    must(session->answer(asks_for({{"pay", R"({"order":1})"}})));
    return must(session->run_calls());
  }

  Position last_call() { return must(store->ledger().list({.session = id})).back().position; }

  const TempFolder folder;
  const std::string bundle = folder.file("bundle");
  bool is_stranger = false;
  SessionId stranger;
  std::unique_ptr<Store> strange;
};

TEST_P(ForeignClaims, AreNeitherReplayedNorPassedOver) {
  begin({pay()});
  make_strange();
  import();

  const CallsReport report = pay_here();

  EXPECT_EQ(report.run + report.replayed + report.refused, 0U);
  EXPECT_EQ(runs["pay"], 0);
  ASSERT_TRUE(report.waiting);
  EXPECT_EQ(report.waiting->what, Waiting::For::decision);
  EXPECT_THAT(report.waiting->why,
              AllOf(HasSubstr(stranger.text() + ":"), HasSubstr("nobody accepted"),
                    HasSubstr("order"), HasSubstr("refunded by a stranger")));
  EXPECT_EQ(state_of(last_call()), CallState::intended);
  EXPECT_EQ(must(store->sessions().read(id)).status, Status::waiting);

  restart({});
  session = must(runtime->resume(id)).session;
  EXPECT_TRUE(must(session->run_calls()).waiting) << "also of the next process";
  EXPECT_EQ(runs["pay"], 0);
}

TEST_P(ForeignClaims, ThatAPersonDoesNotBelieveKeepNobodyFromTheEffect) {
  begin({pay()});
  make_strange();
  import();
  pay_here();
  must(session->resolve(last_call(),
                        {.as = Decision::As::retry, .who = "ann", .why = "not at the bank"}));

  const CallsReport report = must(session->run_calls());

  EXPECT_EQ(report.run, 1U);
  EXPECT_EQ(runs["pay"], 1);
  EXPECT_FALSE(report.waiting);
  const auto row = must(store->ledger().read(id, last_call()));
  EXPECT_EQ(row.state, CallState::succeeded);
  EXPECT_EQ(must(store->ledger().find_holder(*row.key))->session, id);
  EXPECT_TRUE(must(store->upkeep().check()).is_sound());
  EXPECT_EQ(pay_here().replayed, 1U) << "what was done here is";
  EXPECT_EQ(runs["pay"], 1);
}

TEST_P(ForeignClaims, ThatAPersonBelievesAreReplayedFromThenOn) {
  begin({pay()});
  make_strange();
  import();
  pay_here();
  const Position call = last_call();
  must(session->resolve(call,
                        {.as = Decision::As::succeeded, .who = "ann", .why = "seen at the bank"}));

  EXPECT_FALSE(must(session->run_calls()).waiting);
  EXPECT_EQ(result_of(2), "refunded by a stranger");
  const auto row = must(store->ledger().read(id, call));
  EXPECT_EQ(row.state, CallState::succeeded);
  EXPECT_EQ(row.who + ": " + row.why, "ann: seen at the bank");
  EXPECT_EQ(pay_here().replayed, 1U);
  EXPECT_EQ(runs["pay"], 0);
  EXPECT_TRUE(must(store->upkeep().check()).is_sound());
}

TEST_P(ForeignClaims, ThatAreDeniedEndTheCallAlone) {
  begin({pay()});
  make_strange();
  import();
  pay_here();
  must(session->resolve(
      last_call(),
      {.as = Decision::As::failed, .result = "ask me first", .who = "ann", .why = "no idea"}));
  EXPECT_FALSE(must(session->run_calls()).waiting);
  EXPECT_EQ(state_of(last_call()), CallState::denied);
  EXPECT_TRUE(pay_here().waiting) << "the next one asks again";
  const auto given_up = session->resolve(
      last_call(), {.as = Decision::As::abandoned, .who = "ann", .why = "no idea"});
  EXPECT_EQ(given_up.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(runs["pay"], 0);
}

TEST_P(ForeignClaims, OfSessionsThatWereRemovedAreClaimsToo) {
  begin({pay()});
  make_strange(true);
  import();

  const CallsReport report = pay_here();

  EXPECT_EQ(runs["pay"], 0);
  ASSERT_TRUE(report.waiting);
  EXPECT_THAT(report.waiting->why, AllOf(HasSubstr(stranger.text()), HasSubstr("not kept")));
  must(session->resolve(last_call(), {.as = Decision::As::retry, .who = "ann", .why = "no"}));
  EXPECT_EQ(must(session->run_calls()).run, 1U);
}

TEST_P(ForeignClaims, ThatWereAcceptedAreReplayed) {
  begin({pay()});
  make_strange();
  import({.accept_claims = true});
  EXPECT_EQ(pay_here().replayed, 1U);
  EXPECT_EQ(runs["pay"], 0);
}

TEST_P(ForeignClaims, OfAMoveBetweenOnesOwnStoresAreOnesOwn) {
  begin({pay()});
  make_strange();
  must(copy_store(*strange, *store));
  EXPECT_EQ(pay_here().replayed, 1U);
  EXPECT_EQ(runs["pay"], 0);
}

TEST_P(ForeignClaims, AreNotAcceptedByAMoveOrByAnotherBundle) {
  begin({pay()});
  make_strange();
  must(export_sessions(*strange, bundle));
  const auto between = must(open_store("memory:", {.clock = &clock, .ids = &ids}));
  must(import_bundle(*between, bundle));
  must(export_sessions(*between, folder.file("again")));
  must(copy_store(*between, *store));
  EXPECT_TRUE(pay_here().waiting) << "after a move";

  must(store->retention().remove(stranger));
  must(import_bundle(*store, folder.file("again"), {.accept_claims = true}));
  must(session->resolve(last_call(), {.as = Decision::As::failed, .who = "ann", .why = "no"}));
  must(session->run_calls());
  EXPECT_TRUE(pay_here().waiting) << "what its exporter had not accepted nobody here can";
  EXPECT_EQ(runs["pay"], 0);
}

TEST_P(ForeignClaims, DoNotKeepACallThatIsUnderWayFromItsKey) {
  begin({pay()});
  make_strange();
  must(export_sessions(*strange, bundle));
  behaviour["pay"] = [this](const CallContext&) -> ToolOutcome {
    must(import_bundle(*store, bundle));
    return Succeeded{"refunded"};
  };
  EXPECT_EQ(pay_here().run, 1U);
  EXPECT_EQ(result_of(2), "refunded");
  EXPECT_EQ(
      must(store->ledger().find_holder(*must(store->ledger().read(id, last_call())).key))->session,
      id);
  EXPECT_TRUE(must(store->upkeep().check()).is_sound());
}

INSTANTIATE_TEST_SUITE_P(EveryBackend, ForeignClaims, testing::ValuesIn(every_backend()),
                         [](const auto& named) { return named.param.name; });

}  // namespace
}  // namespace perdure
