// A commit that fails leaves the tables exactly as they were, whatever it had
// done before: the whole state is compared, not only what can be asked for.

#include "memory/commit.hpp"

#include <gtest/gtest.h>
#include <string>

#include "memory/rows.hpp"
#include "memory/state.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "store/api/lookup.hpp"

namespace perdure::memory {
namespace {

const Timestamp noon{Duration(1'000)};

SessionId session_id(const std::string& text) { return SessionId::parse(text).value(); }

class MemoryCommit : public testing::Test {
 protected:
  MemoryCommit() {
    Undo undo;
    for (const char* name : {"ses_1", "ses_2"}) {
      NewSession session;
      session.id = session_id(name);
      EXPECT_TRUE(add_session(state, undo, session, noon));
    }
    undo.keep();
    NewWorker worker;
    worker.id = lease.worker;
    state.workers[worker.id] = {worker, Uptime(1'000)};
    SessionTable& table = state.sessions.at(lease.session);
    table.grant = {Grant::Owner{lease.worker, noon}, lease.fence};
    const InboxMessage message{lease.session, MessageId::parse("msg_1").value(), "note", {}, noon};
    table.inbox.pending[1] = message;
    table.inbox.messages[message.id].arrival = 1;
    EXPECT_TRUE(commit(state, lease, everything("bat_1", 0), noon));
  }

  /// A batch that touches every table: it adds two entries at `next` and a call there.
  Batch everything(const std::string& id, Position head) {
    const SessionTable& table = state.sessions.at(lease.session);
    const Position next = table.row.next;
    Batch batch;
    batch.id = BatchId::parse(id).value();
    batch.expected_head = head;
    batch.branch_from = Point::position(0);
    NewEntry entry;
    entry.channel = "transcript";
    entry.kind = "message";
    entry.tally.turns = 1;
    batch.entries = {entry, entry};
    Intend intend;
    intend.call = next;
    intend.args = next + 1;
    intend.tool = "send";
    intend.key = sha256(id);
    batch.calls = {intend, Dispatch{next, {}}};
    Settle doubt;
    doubt.call = next;
    batch.calls.emplace_back(doubt);
    batch.checkpoint.emplace();
    batch.status = StatusChange{Status::waiting, "for an answer", noon};
    batch.annotation.emplace();
    batch.annotation->title = "Title of " + id;
    for (const auto& [arrival, message] : table.inbox.pending) batch.consumed.push_back(message.id);
    NewSession child;
    child.id = session_id("child of " + id);
    child.origin = NewSession::Origin{lease.session, Point::head(), Lineage::fork};
    batch.children = {child};
    return batch;
  }

  void expect_no_trace(const Batch& batch, ErrorCode code) {
    const State before = state;
    const auto receipt = commit(state, lease, batch, noon + Duration(1));
    ASSERT_FALSE(receipt);
    EXPECT_EQ(receipt.error().code, code) << receipt.error().message;
    EXPECT_TRUE(state == before);
  }

  const Lease lease{session_id("ses_1"), WorkerId::parse("wrk_1").value(), 1};
  State state;
};

TEST_F(MemoryCommit, AllOfABatchIsApplied) {
  const SessionTable& table = state.sessions.at(lease.session);
  EXPECT_EQ(table.row.head, 2U);
  EXPECT_EQ(table.row.tally.turns, 2);
  EXPECT_EQ(table.row.version, 1U);
  EXPECT_EQ(table.row.attention, 1);
  EXPECT_EQ(table.row.status, Status::waiting);
  EXPECT_EQ(table.row.title, "Title of bat_1");
  EXPECT_TRUE(table.inbox.pending.empty());
  EXPECT_TRUE(state.key_holders.contains(sha256("bat_1")));
  EXPECT_EQ(state.sessions.at(session_id("child of bat_1")).row.head, 2U);
  EXPECT_EQ(state.counters.commits, 1U);
}

TEST_F(MemoryCommit, AChildThatExistsUndoesEverythingBeforeIt) {
  Batch batch = everything("bat_2", 2);
  NewSession taken;
  taken.id = session_id("ses_2");
  batch.children.push_back(taken);
  expect_no_trace(batch, ErrorCode::already_exists);
}

TEST_F(MemoryCommit, AChildOfNowhereUndoesEverythingBeforeIt) {
  Batch batch = everything("bat_2", 2);
  NewSession lost;
  lost.id = session_id("ses_3");
  lost.origin = NewSession::Origin{session_id("nobody"), Point::head(), Lineage::child};
  batch.children.push_back(lost);
  expect_no_trace(batch, ErrorCode::not_found);
}

TEST_F(MemoryCommit, AConsumedMessageUndoesEverythingBeforeIt) {
  Batch batch = everything("bat_2", 2);
  batch.consumed = {MessageId::parse("msg_1").value()};
  expect_no_trace(batch, ErrorCode::conflict);
}

TEST_F(MemoryCommit, AHeldKeyUndoesEverythingBeforeIt) {
  Batch batch = everything("bat_2", 2);
  Intend& second = std::get<Intend>(batch.calls.emplace_back(std::get<Intend>(batch.calls[0])));
  ++second.call;
  second.key = sha256("bat_1");
  batch.calls.emplace_back(Dispatch{second.call, {}});
  expect_no_trace(batch, ErrorCode::conflict);
}

TEST_F(MemoryCommit, AStepBackOfAnOldCallIsUndoneToo) {
  Batch batch = everything("bat_2", 2);
  Settle settled;
  settled.call = 1;
  settled.state = CallState::failed;
  batch.calls.emplace_back(settled);
  batch.calls.emplace_back(Dispatch{99, {}});
  expect_no_trace(batch, ErrorCode::conflict);
}

TEST_F(MemoryCommit, ChildrenMayComeFromChildrenOfTheSameBatch) {
  Batch batch = everything("bat_2", 2);
  NewSession grandchild;
  grandchild.id = session_id("grandchild");
  grandchild.origin = NewSession::Origin{batch.children[0].id, Point::head(), Lineage::fork};
  batch.children.push_back(grandchild);

  ASSERT_TRUE(commit(state, lease, batch, noon));
  EXPECT_EQ(state.sessions.at(grandchild.id).row.head, 4U);
  EXPECT_EQ(state.sessions.at(grandchild.id).row.tally.turns, 2);
}

}  // namespace
}  // namespace perdure::memory
