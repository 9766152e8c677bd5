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
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "perdure/store/upkeep.hpp"
#include "runtime/api/records.hpp"
#include "runtime/api/state_details.hpp"
#include "store/api/bundle.hpp"

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
    must(their_session.record_request({}, user_says("go")));
    must(their_session.record_response(asks_for({{"pay", R"({"order":1})"}})));
    must(their_session.run_calls());
    must(their_session.set_status({.status = Status::paused}));
    must(their_session.close());
    if (removes) must(strange->upkeep().remove(stranger));
    is_stranger = false;
    runs.clear();
  }

  void import(const ImportOptions& options = {}) {
    must(export_sessions(*strange, bundle));
    must(import_bundle(*store, bundle, options));
  }

  /// A call of our own for the same operation.
  CallsReport pay_here() {
    if (!session->state().details->request) must(session->record_request({}));
    must(session->record_response(asks_for({{"pay", R"({"order":1})"}})));
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
              AllOf(HasSubstr(stranger.text() + ":"), HasSubstr("was not accepted"),
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
  must(move_sessions(*strange, *store));
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
  must(move_sessions(*between, *store));
  EXPECT_TRUE(pay_here().waiting) << "after a move";

  must(store->upkeep().remove(stranger));
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

// What a person decided where the bundle was made was not decided here.
class ForeignDecisions : public ForeignClaims {
 protected:
  /// A session whose call waits for an approval.
  void make_waiting() {
    begin({pay()}, asking());
    must(session->record_response(asks_for({{"pay", R"({"order":1})"}})));
    ASSERT_EQ(must(session->run_calls()).waiting->what, Waiting::For::approval);
    call = last_call();
  }

  /// One that was approved, and waits because another bundle claims that it was done.
  void make_claimed() {
    make_waiting();
    make_strange();
    import();
    must(session->approve(call, true, "stranger", "do it"));
    ASSERT_EQ(must(session->run_calls()).waiting->what, Waiting::For::decision);
  }

  static Policy asking() {
    return {.permit = [](const State&, const ProposedCall&) {
      return PermitDecision::ask("it is a rule");
    }};
  }

  /// It goes on in another store, as a bundle brought it there.
  void carry(const ImportOptions& options = {}, Policy policy = asking()) {
    session.reset();
    runtime.reset();
    must(export_sessions(*store, folder.file("carried")));
    there = std::make_unique<StorePlace>(GetParam());
    store = must(open_store(there->location(), {.clock = &clock, .ids = &ids}));
    must(import_bundle(*store, folder.file("carried"), options));
    runtime = must(Runtime::start(*store, {.host = "there",
                                           .pid = 8,
                                           .renews_itself = false,
                                           .tools = must(Tools::of(tools)),
                                           .policy = std::move(policy),
                                           .clock = &clock,
                                           .ids = &ids}));
    session = must(runtime->open(id));
  }

  std::optional<Waiting> go_on() {
    must(session->take_inbox());
    must(session->set_status({.status = Status::active}, "ben", "it is mine"));
    return must(session->run_calls()).waiting;
  }

  ~ForeignDecisions() override {
    session.reset();
    runtime.reset();
    store.reset();
  }

  Position call = 0;
  std::unique_ptr<StorePlace> there;
};

TEST_P(ForeignDecisions, AnApprovalInTheLogAllowsNothing) {
  make_waiting();
  must(session->approve(call, true, "stranger", "do it"));
  carry();
  const auto waiting = go_on();
  ASSERT_TRUE(waiting);
  EXPECT_EQ(waiting->what, Waiting::For::approval);
  EXPECT_EQ(runs["pay"], 0);

  must(session->approve(call, true, "ben", "I looked"));
  EXPECT_EQ(must(session->run_calls()).run, 1U) << "one that is given here does";
}

TEST_P(ForeignDecisions, AnApprovalGivenHereBeforeItGoesOnStays) {
  make_waiting();
  must(session->approve(call, true, "stranger", "do it"));
  carry();
  must(session->approve(call, true, "ben", "I looked"));
  must(session->close());
  session = must(runtime->open(id));
  EXPECT_FALSE(go_on());
  EXPECT_EQ(runs["pay"], 1);
}

TEST_P(ForeignDecisions, AnApprovalInTheInboxAllowsNothing) {
  make_waiting();
  must(Mail(*store, id).approve(mint<MessageTag>(ids), call, true, "stranger", "do it"));
  carry();
  EXPECT_EQ(go_on()->what, Waiting::For::approval);
  EXPECT_EQ(runs["pay"], 0);
  EXPECT_EQ(must(store->log().read(id, {.channel = "inbox"})).front().kind, "void_approve");
}

TEST_P(ForeignDecisions, AnApprovalAheadOfItsCallAllowsNothing) {
  begin({pay()}, asking());
  must(session->record_response(asks_for({{"pay", R"({"order":1})"}})));
  must(session->run_calls());
  const Digest digest = session->state().details->open_calls.at(last_call()).args_digest;
  must(session->cancel_calls("later", user_says("and now?")));
  must(session->record_request({}));
  // The response, then its intent: at the second position from here.
  const Position next = must(store->sessions().read(id)).head + 3;
  const Lease& lease = session->lease();
  must(store->commit(
      lease, {.id = mint<BatchTag>(ids),
              .expected_head = must(store->sessions().read(id)).head,
              .entries = {{.channel = "approvals",
                           .kind = "given",
                           .body = Body::from_text(to_json(Approval{
                               .call = next, .args_digest = digest, .who = "stranger"}))}}}));
  session.reset();
  session = must(runtime->open(id));
  must(session->record_response(asks_for({{"pay", R"({"order":1})"}})));
  const auto report = must(session->run_calls());
  ASSERT_EQ(last_call(), next);
  ASSERT_TRUE(report.waiting);
  EXPECT_EQ(report.waiting->what, Waiting::For::approval);
  EXPECT_EQ(runs["pay"], 0);
}

// Both entries are there once a status is set; a prune keeps only the last of the status.
TEST_P(ForeignDecisions, AnApprovalIsNotBroughtBackByAPrune) {
  make_waiting();
  must(session->approve(call, true, "stranger", "do it"));
  carry();
  EXPECT_EQ(go_on()->what, Waiting::For::approval);
  must(session->set_status({.status = Status::paused}, "ben", "for now"));
  must(session->checkpoint());
  must(session->close());
  must(store->upkeep().prune(id, {.last = 1}));
  session = must(runtime->open(id));
  EXPECT_EQ(go_on()->what, Waiting::For::approval);
  EXPECT_EQ(runs["pay"], 0);
}

TEST_P(ForeignDecisions, ADecisionToRunACallOnceMoreEndsWithItsSession) {
  begin({tool("pay")});
  behaviour["pay"] = [](const CallContext&) -> ToolOutcome { return Doubtful{"line cut"}; };
  must(session->record_response(asks_for({{"pay", R"({"order":1})"}})));
  ASSERT_TRUE(must(session->run_calls()).waiting);
  must(session->resolve(last_call(), {.as = Decision::As::retry, .who = "ann", .why = "try"}));
  must(session->set_status({.status = Status::cancelled}, "ann", "no"));
  must(session->reopen("ann", "yes"));
  ASSERT_TRUE(must(session->run_calls()).waiting);
  EXPECT_EQ(runs["pay"], 1);
}

// It is under way there, as its log says; whoever made the file may have invented that.
TEST_P(ForeignDecisions, ACallThatWasBegunThereIsNotMadeHere) {
  Tool keyed = pay();
  keyed.honours_key = true;
  begin({keyed});
  behaviour["pay"] = [](const CallContext&) -> ToolOutcome { return Doubtful{"line cut"}; };
  must(session->record_response(asks_for({{"pay", R"({"order":1})"}})));
  session.reset();
  runs.clear();
  carry({}, {});
  const auto waiting = go_on();
  ASSERT_TRUE(waiting);
  EXPECT_EQ(waiting->what, Waiting::For::decision);
  EXPECT_EQ(runs["pay"], 0);
  behaviour["pay"] = [](const CallContext&) -> ToolOutcome { return Succeeded{"paid"}; };
  must(session->resolve(last_call(), {.as = Decision::As::retry, .who = "ben", .why = "mine"}));
  must(session->run_calls());
  EXPECT_EQ(runs["pay"], 1) << "once a person decides so";
}

// A server that is restored: failover_test.
class RestoredDecisions : public ForeignDecisions {};

TEST_P(RestoredDecisions, InTheInboxOfABackupAreAskedForAgain) {
  make_waiting();
  session.reset();
  must(Mail(*store, id).approve(mint<MessageTag>(ids), call, true, "ann", "do it"));
  const std::string backup = folder.file("backup.db");
  must(store->upkeep().backup(backup));
  runtime.reset();
  store = must(open_store(backup, {.clock = &clock, .ids = &ids}));
  runtime = must(Runtime::start(*store, {.host = "there",
                                         .pid = 8,
                                         .renews_itself = false,
                                         .tools = must(Tools::of(tools)),
                                         .policy = asking(),
                                         .clock = &clock,
                                         .ids = &ids}));
  session = must(runtime->open(id));
  EXPECT_EQ(go_on()->what, Waiting::For::approval);
  EXPECT_EQ(runs["pay"], 0);
}

// The bundle has the claim, a call that waits because of it, and the decision that believes it.
TEST_P(ForeignDecisions, ADecisionThatBelievesAClaimSettlesNothing) {
  make_claimed();
  must(Mail(*store, id)
           .resolve(mint<MessageTag>(ids), call,
                    {.as = Decision::As::succeeded,
                     .result = "refunded",
                     .who = "stranger",
                     .why = "seen"}));
  const SessionId waits = id;
  carry();
  must(session->take_inbox());
  const Call row = must(store->ledger().read(waits, call));
  EXPECT_EQ(row.state, CallState::intended);
  EXPECT_FALSE(must(store->ledger().find_holder(*row.key)));
  EXPECT_EQ(runs["pay"], 0);
}

TEST_P(ForeignDecisions, ADecisionToRunACallOnceMoreIsMadeHereAgain) {
  make_claimed();
  must(session->resolve(call, {.as = Decision::As::retry, .who = "stranger", .why = "not done"}));
  carry();
  EXPECT_EQ(go_on()->what, Waiting::For::decision);
  EXPECT_EQ(runs["pay"], 0);
}

INSTANTIATE_TEST_SUITE_P(InAFile, RestoredDecisions, testing::Values(Backend{"sqlite", Home::file}),
                         [](const auto& named) { return named.param.name; });

INSTANTIATE_TEST_SUITE_P(EveryBackend, ForeignDecisions, testing::ValuesIn(every_backend()),
                         [](const auto& named) { return named.param.name; });

INSTANTIATE_TEST_SUITE_P(EveryBackend, ForeignClaims, testing::ValuesIn(every_backend()),
                         [](const auto& named) { return named.param.name; });

}  // namespace
}  // namespace perdure
