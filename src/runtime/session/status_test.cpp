// A session's status over every backend: each change is in the log, with who made it and why, and the
// log alone tells the status. What ends with open calls; what an ended session still takes.

#include <gtest/gtest.h>
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
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "runtime/api/records.hpp"
#include "runtime/api/session.hpp"
#include "runtime/api/state_details.hpp"
#include "store/api/bundle.hpp"

namespace perdure {
namespace {

using Kinds = std::vector<std::string>;

class StatusTest : public TurnsTest {
 protected:
  /// What the log says, of this session alone; each entry names somebody and a reason.
  std::vector<StatusNote> notes_of(const SessionId& of) {
    const auto row = must(store->sessions().read(of));
    const bool is_fork = row.parent && row.parent->lineage == Lineage::fork;
    const Position from = is_fork ? row.parent->position + 1 : 1;
    std::vector<StatusNote> found;
    for (const Entry& entry : must(store->log().read(of, {.from = from, .channel = "status"}))) {
      found.push_back(must(status_note_from_json(entry.kind, entry.body.bytes())));
      EXPECT_NE(found.back().who, "");
      EXPECT_NE(found.back().why, "");
    }
    return found;
  }

  Kinds kinds(const SessionId& of) {
    Kinds found;
    for (const StatusNote& note : notes_of(of)) found.emplace_back(status_kind(note.status));
    return found;
  }

  /// The log tells the status that the row has, and this one last.
  void expect_last(const SessionId& of, const std::string& kind, const std::string& who,
                   const std::string& why) {
    const auto noted = notes_of(of);
    ASSERT_FALSE(noted.empty());
    EXPECT_EQ(must(store->sessions().read(of)).status, noted.back().status);
    EXPECT_EQ(status_kind(noted.back().status), kind);
    EXPECT_EQ(noted.back().who, who);
    EXPECT_EQ(noted.back().why, why);
  }

  std::string worker() const { return session->lease().worker.text(); }
  Mail mail() { return {*store, id}; }
  static MessageId mail_id(const std::string& text) { return must(MessageId::parse(text)); }

  /// A call that nobody knows the outcome of, and a session that waits for a decision.
  Position doubt() {
    begin({tool("pay")});
    behaviour["pay"] = [](const CallContext&) { return Doubtful{"no reply"}; };
    must(session->record_response(asks_for({{"pay", "{}"}})));
    must(session->run_calls());
    return first_call();
  }

  TempFolder folder;
};

TEST_P(StatusTest, AChangeSaysWhoMadeItAndWhy) {
  begin({});
  must(session->set_status({.status = Status::paused, .wait_reason = "lunch"}, "ann"));
  expect_last(id, "session_paused", "ann", "lunch");
  must(session->set_status({.status = Status::active}, "ben", "lunch is over"));
  expect_last(id, "session_resumed", "ben", "lunch is over");
  must(session->set_status({.status = Status::waiting}));
  expect_last(id, "session_waiting", worker(), "no reason was given");
}

TEST_P(StatusTest, WhatChangesNothingIsNoEntry) {
  begin({});
  must(session->set_status({.status = Status::active}));
  EXPECT_EQ(kinds(id), Kinds{});
  must(session->set_status({.status = Status::waiting, .wait_reason = "a"}));
  must(session->set_status({.status = Status::waiting, .wait_reason = "a"}));
  must(session->set_status({.status = Status::waiting, .wait_reason = "b"}));
  EXPECT_EQ(kinds(id), (Kinds{"session_waiting", "session_waiting"})) << "it waits for another";
}

TEST_P(StatusTest, MailThatStopsItSaysWhoSentIt) {
  begin({});
  must(mail().pause(mail_id("msg_1"), "ann", "lunch"));
  must(session->take_inbox());
  expect_last(id, "session_paused", "ann", "lunch");
  must(mail().cancel(mail_id("msg_2"), "", ""));
  must(session->take_inbox());
  expect_last(id, "session_cancelled", "message msg_2", "no reason was given");
}

TEST_P(StatusTest, ACallThatWaitsForPeopleAndGoesOn) {
  const Position call = doubt();
  expect_last(id, "session_waiting", "dispatcher", notes_of(id).back().why);
  must(session->resolve(call, {.as = Decision::As::failed, .who = "ann", .why = "looked"}));
  must(session->run_calls());
  expect_last(id, "session_resumed", "dispatcher", "no call is waited for any more");
}

TEST_P(StatusTest, AnEndAndAReopening) {
  begin({});
  must(session->record_response({.blocks = {TextBlock{.text = "done"}}}));
  must(session->finish("paid", Status::failed));
  expect_last(id, "session_failed", worker(), "paid");
  must(session->reopen("ann", "one thing more"));
  expect_last(id, "session_resumed", "ann", "one thing more");
  must(session->finish(""));
  expect_last(id, "session_completed", worker(), "it has finished");
}

TEST_P(StatusTest, AValueOrAResponseThatLeavesItWaiting) {
  begin({});
  must(session->record_response({.blocks = {TextBlock{.text = "done"}}}, {},
                                {.rests = StatusChange{Status::waiting, "the next message"}}));
  expect_last(id, "session_waiting", worker(), "the next message");
  must(session->set("stop", Body::from_text("1"), StatusChange{Status::waiting, "the budget"}));
  expect_last(id, "session_waiting", worker(), "the budget");
}

TEST_P(StatusTest, ARewindLeavesTheStatusAndTheLogTellsIt) {
  begin({});
  must(session->record_response({.blocks = {TextBlock{.text = "done"}}}));
  const Position before = session->state().head;
  must(session->set_status({.status = Status::waiting, .wait_reason = "rain"}, "ann"));
  must(session->rewind(Point::position(before)));
  expect_last(id, "session_waiting", worker(),
              "as before the session went back to " + std::to_string(before));
}

TEST_P(StatusTest, AForkHasAStatusOfItsOwn) {
  begin({});
  must(session->record_response({.blocks = {TextBlock{.text = "done"}}}));
  must(session->set_status({.status = Status::paused, .wait_reason = "lunch"}, "ann"));
  for (const bool fresh : {false, true}) {
    const auto forked = must(runtime->fork(id, Point::head(), {.fresh_effects = fresh}));
    EXPECT_EQ(must(store->sessions().read(forked.id)).status, Status::active);
    EXPECT_EQ(kinds(forked.id), Kinds{});
    auto fork = must(runtime->open(forked.id));
    must(fork.set_status({.status = Status::paused, .wait_reason = "lunch"}, "ben"));
    EXPECT_EQ(kinds(forked.id), Kinds{"session_paused"});
    expect_last(forked.id, "session_paused", "ben", "lunch");
  }
}

// Its row came so; the log learns of it with the next change.
TEST_P(StatusTest, OneThatWasImportedSaysThatItCameUpPaused) {
  begin({});
  must(session->record_response({.blocks = {TextBlock{.text = "done"}}}));
  session.reset();
  const std::string bundle = folder.file("bundle");
  must(export_sessions(*store, bundle));
  StorePlace other{GetParam()};
  runtime.reset();
  store = must(open_store(other.location(), {.clock = &clock, .ids = &ids}));
  must(import_bundle(*store, bundle));
  runtime = must(Runtime::start(
      *store, {.host = "here", .pid = 7, .renews_itself = false, .clock = &clock, .ids = &ids}));
  const auto row = must(store->sessions().read(id));
  ASSERT_EQ(row.status, Status::paused);

  session = must(runtime->open(id));
  must(session->set_status({.status = Status::active}, "ann", "it is mine"));

  ASSERT_EQ(kinds(id), (Kinds{"session_paused", "session_resumed"}));
  EXPECT_EQ(notes_of(id).front().who, "store");
  EXPECT_EQ(notes_of(id).front().why, row.wait_reason);
  expect_last(id, "session_resumed", "ann", "it is mine");
  session.reset();
  runtime.reset();
  store.reset();
}

TEST_P(StatusTest, AnEndIsRefusedInAllWaysWhileACallIsUnresolved) {
  const Position call = doubt();
  for (const Status end : {Status::completed, Status::failed}) {
    const auto finished = session->finish("done", end);
    const auto set = session->set_status({.status = end});
    ASSERT_FALSE(finished);
    ASSERT_FALSE(set);
    EXPECT_EQ(set.error().code, ErrorCode::conflict);
    EXPECT_EQ(set.error().subject, call_name(id, call));
    EXPECT_EQ(set.error().message, finished.error().message);
  }
  EXPECT_EQ(session->status(), Status::waiting);
}

TEST_P(StatusTest, AnEndIsNotChangedIntoAnother) {
  for (const Status first : {Status::completed, Status::failed, Status::cancelled}) {
    begin({});
    must(session->record_response({.blocks = {TextBlock{.text = "done"}}}));
    must(session->set_status({.status = first}));
    for (const Status other : {Status::completed, Status::failed, Status::cancelled}) {
      EXPECT_EQ(session->finish("done", other).has_value(), other == first) << to_string(other);
      EXPECT_EQ(session->status(), first);
    }
  }
}

// Whatever the runtime forgot to ask: the store itself says no, and in the same words.
TEST_P(StatusTest, TheStoreRefusesAnEndAsFinishDoes) {
  doubt();
  const auto refused = session->finish("done");
  const auto row = must(store->sessions().read(id));
  const auto by_store =
      store->commit(session->lease(), {.id = must(BatchId::parse("bat_end")),
                                       .expected_head = row.head,
                                       .status = StatusChange{Status::completed}});
  ASSERT_FALSE(by_store);
  EXPECT_EQ(by_store.error().code, refused.error().code);
  EXPECT_EQ(by_store.error().subject, refused.error().subject);
  EXPECT_EQ(by_store.error().message, refused.error().message);
}

TEST_P(StatusTest, WhatIsCancelledKeepsItsDoubtUntilSomebodyResolvesIt) {
  const Position call = doubt();
  must(session->set_status({.status = Status::cancelled, .wait_reason = "enough"}, "ann"));
  restart();
  session.emplace(must(runtime->resume(id)).session);
  EXPECT_EQ(runs["pay"], 1) << "nothing is run in it";
  EXPECT_EQ(must(store->sessions().read(id)).attention, 1);

  must(
      mail().resolve(mail_id("msg_1"), call,
                     {.as = Decision::As::succeeded, .result = "ok", .who = "ben", .why = "book"}));
  must(session->take_inbox());

  EXPECT_EQ(state_of(call), CallState::succeeded);
  EXPECT_EQ(session->status(), Status::cancelled);
  expect_last(id, "session_cancelled", "ann", "enough");
}

// Cancelled by mail while its process was dead: the call was begun, and it is unknown how it ended.
TEST_P(StatusTest, ACallThatADeadProcessHadBegunIsInDoubtInACancelledSession) {
  begin({tool("pay")});
  must(session->record_response(asks_for({{"pay", "{}"}})));
  restart();
  must(mail().cancel(mail_id("msg_1"), "ann", "enough"));
  for (int again = 0; again < 2; ++again) {
    session.reset();
    session.emplace(must(runtime->resume(id)).session);
    EXPECT_EQ(session->status(), Status::cancelled);
    EXPECT_EQ(state_of(first_call()), CallState::in_doubt);
  }
  EXPECT_EQ(runs["pay"], 0);
}

TEST_P(StatusTest, AResponseThatComesAfterTheEndIsRecordedAndItsCallsAreNot) {
  begin({tool("pay"), tool("look", {.read = true})});
  must(session->set_status({.status = Status::cancelled}, "ann", "enough"));

  must(session->record_response(asks_for({{"pay", "{}"}, {"look", "{}"}}), {.cost_micros = 7},
                                {.next_request = RequestSpec{.model = "m", .reserve_micros = 5}}));

  EXPECT_EQ(session->state().transcript.size(), 2U);
  EXPECT_EQ(session->state().budget.totals.recorded(), 7);
  EXPECT_FALSE(session->state().details->request);
  EXPECT_TRUE(must(store->ledger().list({.session = id})).empty());
  EXPECT_TRUE(session->state().details->open_calls.empty());
  must(session->reopen("ann", "after all"));
  EXPECT_EQ(must(session->run_calls()).run, 0U) << "they are told of as never made";
}

TEST_P(StatusTest, ARequestThatAnEndedSessionHadMadeIsCountedWhenItsProcessIsGone) {
  tools = {};
  restart();
  session = must(runtime->create({.budget_micros = 100}));
  id = session->id();
  must(session->record_request({.model = "m", .reserve_micros = 40}, user_says("go")));
  must(session->set_status({.status = Status::cancelled}, "ann", "enough"));
  restart();

  const auto resumed = must(runtime->resume(id));

  EXPECT_TRUE(resumed.report.lost_a_response);
  EXPECT_FALSE(resumed.session.state().details->request);
  EXPECT_EQ(resumed.session.state().budget.totals.unconfirmed, 40);
  EXPECT_EQ(resumed.session.status(), Status::cancelled);
}

TEST_P(StatusTest, AChildsEndReachesAParentThatHasEnded) {
  restart();
  session = must(runtime->create({.budget_micros = 100}));
  id = session->id();
  const SessionId child = must(spawn(*session, {.grant_micros = 60}));
  must(session->set_status({.status = Status::cancelled}, "ann", "enough"));
  EXPECT_EQ(spawn(*session, {}).error().code, ErrorCode::conflict);
  session.reset();
  must(must(runtime->open(child)).finish("done"));

  const auto resumed = must(runtime->resume(id));

  EXPECT_TRUE(resumed.session.state().details->children.at(child.text()).end);
  EXPECT_TRUE(resumed.session.state().budget.grants.empty());
  EXPECT_EQ(resumed.session.status(), Status::cancelled);
}

TEST_P(StatusTest, AResponseDoesNotEndASession) {
  begin({});
  const Message done{.blocks = {TextBlock{.text = "done"}}};
  const auto refused =
      session->record_response(done, {}, {.rests = StatusChange{.status = Status::completed}});
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_TRUE(session->state().details->request) << "it can be recorded without";
  must(session->record_response(done));
}

INSTANTIATE_TEST_SUITE_P(Every, StatusTest, testing::ValuesIn(every_backend()),
                         [](const auto& named) { return named.param.name; });

}  // namespace
}  // namespace perdure
