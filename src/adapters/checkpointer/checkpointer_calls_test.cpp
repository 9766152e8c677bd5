// Calls of a checkpointer, over every backend: who is told to run them, and who is not.

#include <atomic>
#include <cstdint>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "book/book_session.hpp"
#include "contract/backends.hpp"
#include "doubles/must.hpp"
#include "perdure/adapters/checkpointer.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "perdure/store/upkeep.hpp"
#include "runtime/api/operation.hpp"
#include "runtime/api/records.hpp"
#include "runtime/api/state_details.hpp"

namespace perdure {
namespace {

class CheckpointerCalls : public BookSession {
 protected:
  CheckpointerCalls() { must(book->start_session(session)); }

  [[nodiscard]] Call row(Position call) const { return must(store->ledger().read(session, call)); }
  std::vector<Pending> pending() { return must(book->check_pending_tool_calls(session)); }
  Result<void> tell(Position call, const ToolOutcome& outcome, const std::string& who = {}) {
    return book->record_tool_call_result(session, call, outcome, who);
  }
  static bool may_run(const Checkpointer::Issued& answer) {
    return std::holds_alternative<MayRun>(answer);
  }

  const SessionId other = must(SessionId::parse("session-beta"));
};

TEST_P(CheckpointerCalls, ACallThatMayRunIsDispatchedAndItsArgumentsAreKept) {
  const Position call = run(email("ann"));
  EXPECT_EQ(row(call).state, CallState::dispatched);
  EXPECT_EQ(row(call).provider_id, "call_1");
  const auto open = pending();
  ASSERT_EQ(open.size(), 1U);
  EXPECT_EQ(open[0].tool_name, "send_email");
  EXPECT_EQ(open[0].args, R"({"to": "ann"})");
  EXPECT_EQ(open[0].idempotency_key, to_hex(row(call).key.value()));
  EXPECT_EQ(open[0].issued_at, clock.now());
  EXPECT_TRUE(open[0].is_running);
}

// A harness that runs it again after a death must reach the same operation at the vendor.
TEST_P(CheckpointerCalls, ACallInDoubtHasTheKeyThatItsRunWasGiven) {
  must(tell(run(email("ann")), Failed{"refused"}));
  const auto given = std::get<MayRun>(issue(email("ann")));
  EXPECT_NE(given.key, to_hex(row(given.call).key.value())) << "one failure came before";
  EXPECT_EQ(pending().at(0).idempotency_key, given.key);
  restart();
  must(book->start_session(session));
  EXPECT_EQ(pending().at(0).idempotency_key, given.key);
  EXPECT_EQ(std::get<Pending>(issue(email("ann"))).idempotency_key, given.key);
}

TEST_P(CheckpointerCalls, ACallInDoubtHasThatKeyAlsoWhenCallsThatFailedAreDeleted) {
  auto call = email("ann");
  call.repeat = Repeat::once_per_store;
  must(book->start_session(other));
  const auto failed = std::get<MayRun>(must(book->record_tool_call_issued(other, call)));
  must(book->record_tool_call_result(other, failed.call, Failed{"refused"}));
  const auto given = std::get<MayRun>(issue(call));
  EXPECT_NE(given.key, failed.key);
  restart();
  must(store->upkeep().remove(other));
  must(book->start_session(session));
  EXPECT_EQ(pending().at(0).idempotency_key, given.key);
  EXPECT_EQ(std::get<Pending>(issue(call)).idempotency_key, given.key);
}

TEST_P(CheckpointerCalls, TheKeyIsTheOneTheDispatcherUses) {
  Tool tool;
  tool.name = "send_email";
  tool.repeat = Repeat::once_per_session;
  const State state = must(read_state(*store, session, Point::head()));
  const auto operation =
      must(dispatch::operation_of(tool, json(R"({"to":"ann"})").value(),
                                  {.session = "x",
                                   .call = 9,
                                   .root = session.text(),
                                   .root_nonce = state.details->origin.value().nonce}));
  const auto answer = std::get<MayRun>(issue(email("ann")));
  EXPECT_EQ(row(answer.call).key, operation.key);
  EXPECT_EQ(answer.key, to_hex(operation.key));
}

TEST_P(CheckpointerCalls, TheSecondTimeItsResultComesBackAndNothingIsWritten) {
  const Position call = complete(email("ann"), "sent");
  const auto head = must(store->sessions().read(session)).head;
  auto again = email("ann");
  again.call_id = "call_2";
  const auto done = std::get<Completed>(issue(again));
  EXPECT_EQ(done.call, call);
  EXPECT_EQ(done.call_id, "call_1");
  EXPECT_EQ(done.tool_name, "send_email");
  EXPECT_EQ(done.result, "sent");
  EXPECT_FALSE(done.is_error);
  EXPECT_EQ(must(store->sessions().read(session)).head, head);
  EXPECT_TRUE(may_run(issue(email("bob"))));
}

TEST_P(CheckpointerCalls, WhileItRunsASecondAskerIsToldSo) {
  const Position call = run(email("ann"));
  const auto waits = std::get<Pending>(issue(email("ann")));
  EXPECT_EQ(waits.call, call);
  EXPECT_TRUE(waits.is_running);
  EXPECT_EQ(waits.state, CallState::dispatched);
}

TEST_P(CheckpointerCalls, AfterADeathItIsInDoubtAndNobodyIsToldToRunIt) {
  const Position call = run(email("ann"));
  restart();
  EXPECT_FALSE(pending().at(0).is_running) << "also before anybody has taken the session up";
  must(book->start_session(session));
  EXPECT_EQ(row(call).state, CallState::in_doubt);
  EXPECT_EQ(must(store->sessions().read(session)).attention, 1);
  const auto doubt = std::get<Pending>(issue(email("ann")));
  EXPECT_EQ(doubt.call, call);
  EXPECT_FALSE(doubt.is_running);
  EXPECT_EQ(doubt.why, "the process that ran it is gone, and did not say");
}

TEST_P(CheckpointerCalls, ACallInDoubtIsResolvedByWhoeverKnows) {
  const Position sent = run(email("ann"));
  const Position unsent = run(email("bob"));
  restart();
  must(book->start_session(session));
  must(tell(sent, Succeeded{"seen in the outbox"}, "carol"));
  must(tell(unsent, Failed{"not in the outbox"}, "carol"));
  EXPECT_TRUE(pending().empty());
  EXPECT_EQ(row(sent).who, "carol");
  EXPECT_EQ(std::get<Completed>(issue(email("ann"))).result, "seen in the outbox");
  EXPECT_TRUE(may_run(issue(email("bob"))));
}

TEST_P(CheckpointerCalls, OnlyAFailureFreesACall) {
  const Position call = run(email("ann"));
  must(tell(call, Doubtful{"the connection was lost"}));
  const auto doubt = std::get<Pending>(issue(email("ann")));
  EXPECT_EQ(doubt.state, CallState::in_doubt);
  EXPECT_EQ(doubt.why, "the connection was lost");
  must(tell(call, Failed{"refused"}, "carol"));
  EXPECT_TRUE(may_run(issue(email("ann"))));
}

// Whoever runs a call in doubt once more, under its key, learns what that run did and no more.
TEST_P(CheckpointerCalls, ALaterRunThatDidNothingDoesNotEndADoubt) {
  const Position call = run(email("ann"));
  restart();
  must(book->start_session(session));
  EXPECT_EQ(code_of(tell(call, Failed{"the program did not start"})), ErrorCode::conflict);
  EXPECT_EQ(row(call).state, CallState::in_doubt);
  must(tell(call, Never{"no such mailbox"}));
  EXPECT_EQ(row(call).state, CallState::failed);
}

TEST_P(CheckpointerCalls, AfterAFailureTheVendorsKeyIsAnother) {
  const auto first = std::get<MayRun>(issue(email("ann")));
  must(tell(first.call, Failed{"refused"}));
  const auto second = std::get<MayRun>(issue(email("ann")));
  EXPECT_NE(second.call, first.call);
  EXPECT_EQ(second.key, first.key + "-1");
}

TEST_P(CheckpointerCalls, AnAnswerThatIsAnErrorIsReplayedAsOne) {
  must(tell(run(email("ann")), Succeeded{.content = "no such mailbox", .is_error = true}));
  const auto done = std::get<Completed>(issue(email("ann")));
  EXPECT_EQ(done.result, "no such mailbox");
  EXPECT_TRUE(done.is_error);
}

TEST_P(CheckpointerCalls, TheSameOutcomeTwiceIsNoErrorAndAnotherOneIs) {
  const Position call = complete(email("ann"), "sent");
  EXPECT_TRUE(tell(call, Succeeded{"sent"}));
  EXPECT_EQ(code_of(tell(call, Succeeded{"sent twice"})), ErrorCode::conflict);
  EXPECT_EQ(code_of(tell(call, Succeeded{.content = "sent", .is_error = true})),
            ErrorCode::conflict);
  EXPECT_EQ(code_of(tell(call, Failed{"sent"})), ErrorCode::conflict);
  const Position doubted = run(email("bob"));
  must(tell(doubted, Doubtful{"lost"}));
  EXPECT_TRUE(tell(doubted, Doubtful{"still lost"}));
  EXPECT_EQ(code_of(tell(999, Failed{})), ErrorCode::not_found);
  EXPECT_EQ(code_of(tell(doubted, Failed{}, "bad\nname")), ErrorCode::invalid_argument);
}

TEST_P(CheckpointerCalls, ResultsAreAnyBytes) {
  const std::string odd("\0\xff{\"a\":", 7);
  complete(email("ann"), odd);
  complete(email("bob"), "");
  EXPECT_EQ(std::get<Completed>(issue(email("ann"))).result, odd);
  EXPECT_EQ(std::get<Completed>(issue(email("bob"))).result, "");
}

TEST_P(CheckpointerCalls, EachCallIsOneOfItsOwnIfTheToolIsSuch) {
  auto step = email("ann");
  step.repeat = Repeat::each_call;
  complete(step, "1");
  EXPECT_TRUE(may_run(issue(step)));
  EXPECT_TRUE(may_run(issue(step)));
}

TEST_P(CheckpointerCalls, AnotherSessionMayRunItUnlessItIsOncePerStore) {
  auto publish = email("all");
  publish.repeat = Repeat::once_per_store;
  complete(email("ann"), "sent");
  complete(publish, "published");
  must(book->start_session(other));
  EXPECT_TRUE(may_run(must(book->record_tool_call_issued(other, email("ann")))));
  const auto done = std::get<Completed>(must(book->record_tool_call_issued(other, publish)));
  EXPECT_EQ(done.session, session);
  EXPECT_EQ(done.result, "published");
}

TEST_P(CheckpointerCalls, AForkSharesWhatWasDone) {
  complete(email("ann"), "sent");
  must(store->sessions().create(
      {.id = other, .origin = NewSession::Origin{.session = session, .at = Point::head()}}));
  complete(email("bob"), "sent after the fork");
  must(book->start_session(other));
  for (const char* to : {"ann", "bob"}) {
    const auto done = std::get<Completed>(must(book->record_tool_call_issued(other, email(to))));
    EXPECT_EQ(done.session, session);
    EXPECT_TRUE(must(book->find_completed_call(other, email(to))));
  }
}

TEST_P(CheckpointerCalls, DefaultsOfTheSchemaCountAsGiven) {
  auto left_out = email("ann");
  left_out.input_schema = R"({"properties": {"cc": {"default": []}}})";
  auto written = left_out;
  written.args = json(R"({"cc": [], "to": "ann"})");
  complete(left_out, "sent");
  EXPECT_EQ(std::get<Completed>(issue(written)).result, "sent");
}

TEST_P(CheckpointerCalls, ABusinessKeyNamesTheOperationAndItsArgumentsMustBeTheSame) {
  Checkpointer::ToolCall pay{
      .tool_name = "pay", .args = json(R"({"order": 7, "amount": 10})"), .business_key = "/order"};
  complete(pay, "paid");
  EXPECT_EQ(std::get<Completed>(issue(pay)).result, "paid");
  pay.args = json(R"({"order": 7, "amount": 11})");
  EXPECT_EQ(code_of(book->record_tool_call_issued(session, pay)), ErrorCode::conflict);
  EXPECT_EQ(code_of(book->find_completed_call(session, pay)), ErrorCode::conflict);
  pay.args = json("{}");
  EXPECT_EQ(code_of(book->record_tool_call_issued(session, pay)), ErrorCode::invalid_argument);
}

TEST_P(CheckpointerCalls, ABadNameIsRefusedAndNothingIsWritten) {
  EXPECT_EQ(code_of(book->record_tool_call_issued(session, {.tool_name = "\n"})),
            ErrorCode::invalid_argument);
  EXPECT_TRUE(entries("tool_calls").empty());
}

TEST_P(CheckpointerCalls, ALookFindsWhatWasDoneAndClaimsNothing) {
  EXPECT_FALSE(must(book->find_completed_call(other, email("ann")))) << "there is no such session";
  EXPECT_FALSE(must(book->find_completed_call(session, email("ann"))));
  const Position call = run(email("ann"));
  EXPECT_FALSE(must(book->find_completed_call(session, email("ann")))) << "it is not done yet";
  must(tell(call, Succeeded{"sent"}));
  EXPECT_EQ(must(book->find_completed_call(session, email("ann")))->result, "sent");
  Checkpointer stranger(*store);
  EXPECT_TRUE(must(stranger.find_completed_call(session, email("ann"))));
}

TEST_P(CheckpointerCalls, PendingOnesAreSeenByOthersAndAnUnknownSessionHasNone) {
  run(email("ann"));
  run(email("bob"));
  Checkpointer stranger(*store);
  const auto seen = must(stranger.check_pending_tool_calls(session));
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0].args, R"({"to": "ann"})");
  EXPECT_TRUE(seen[1].is_running);
  EXPECT_TRUE(must(stranger.check_pending_tool_calls(other)).empty());
}

TEST_P(CheckpointerCalls, WhoeverLoadsLearnsWhatWasDoneAfterTheVersion) {
  complete(email("ann"), "before");
  save({said("user", "a")});
  complete(email("bob"), "after");
  restart();
  const auto loaded = must(book->load_latest(session)).value();
  ASSERT_EQ(loaded.done_since.size(), 1U);
  EXPECT_EQ(loaded.done_since[0].result, "after");
  EXPECT_EQ(loaded.done_since[0].tool_name, "send_email");
}

TEST_P(CheckpointerCalls, ThatItWasDoneOutlivesItsResult) {
  complete(email("ann"), "sent");
  const auto result = entries("tool_calls").back().position;
  must(store->upkeep().erase(session, {result}));
  const auto erased = std::get<Completed>(issue(email("ann")));
  EXPECT_EQ(erased.result, std::nullopt);

  auto publish = email("all");
  publish.repeat = Repeat::once_per_store;
  complete(publish, "published");
  restart();
  must(store->upkeep().remove(session));
  must(book->start_session(other));
  const auto gone = std::get<Completed>(must(book->record_tool_call_issued(other, publish)));
  EXPECT_EQ(gone.result, std::nullopt);
}

// Arguments and result are blocks of messages there, told by the marks on them.
TEST_P(CheckpointerCalls, CallsOfTheDispatcherAreUnderstood) {
  const std::string asked =
      R"({"id":"m","role":"assistant","created_at":"2026-01-01T00:00:00.000Z","blocks":[)"
      R"({"kind":"tool_call","id":"call_1","name":"send_email","args":{"to": "ann"}}]})";
  const auto key = row(run(email("ann"))).key.value();
  must(tell(must(store->ledger().find_holder(key))->position, Failed{"not by us"}));
  book.reset();
  const auto worker = mint<WorkerTag>(random_ids());
  must(store->ownership().enroll({.id = worker}));
  const Lease lease = must(store->ownership().acquire(session, worker));
  const auto commit = [&](Batch batch) {
    batch.id = mint<BatchTag>(random_ids());
    batch.expected_head = must(store->sessions().read(session)).head;
    must(store->commit(lease, batch));
  };
  const Position at = must(store->sessions().read(session)).next;
  commit({.entries = {{.channel = "transcript", .kind = "message", .body = Body::from_text(asked)},
                      {.channel = "calls", .kind = "intent", .body = Body::from_text("{}")}},
          .calls = {Intend{.call = at + 1,
                           .args = at,
                           .tool = "send_email",
                           .provider_id = "call_1",
                           .key = key},
                    Dispatch{.call = at + 1}}});
  Checkpointer looks(*store);
  EXPECT_EQ(must(looks.check_pending_tool_calls(session)).at(0).args, R"({"to": "ann"})");
  ToolResultBlock result{.call_id = "call_1", .content = "sent by another"};
  set_outcome(result, {.call = at + 1, .state = CallState::succeeded});
  commit({.entries = {{.channel = "transcript",
                       .kind = "message",
                       .body = Body::from_text(to_json(Message{.id = "r", .blocks = {result}}))}},
          .calls = {Settle{.call = at + 1, .state = CallState::succeeded, .result = at + 2}}});
  EXPECT_EQ(must(looks.find_completed_call(session, email("ann")))->result, "sent by another");
  must(store->ownership().retire(worker));
}

TEST_P(CheckpointerCalls, OfManyWhoAskAtOnceOneIsToldToRunIt) {
  std::atomic<int> told = 0;
  {
    std::vector<std::jthread> askers;
    for (int i = 0; i < 8; ++i) {
      askers.emplace_back([&] {
        const auto answer = book->record_tool_call_issued(session, email("ann"));
        if (answer && may_run(*answer)) ++told;
      });
    }
  }
  EXPECT_EQ(told, 1);
}

INSTANTIATE_TEST_SUITE_P(EveryBackend, CheckpointerCalls, testing::ValuesIn(every_backend()),
                         [](const auto& backend) { return backend.param.name; });

}  // namespace
}  // namespace perdure
