// Inbox (store.hpp) made executable.

#include "contract/store_contract.hpp"
#include "store/api/lookup.hpp"

namespace perdure {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class InboxContract : public StoreContract {
 protected:
  std::vector<std::string> pending(std::size_t limit = 100) {
    std::vector<std::string> found;
    for (const InboxMessage& one : must(store->inbox().list(session, limit))) {
      found.push_back(one.id.text());
    }
    return found;
  }
  void consume(const Lease& lease, const std::string& id) {
    Batch made = batch(session);
    made.consumed = {message_id(id)};
    commit(lease, made);
  }

  SessionId session = create();
};

INSTANTIATE_TEST_SUITE_P(EveryBackend, InboxContract, testing::ValuesIn(every_form()), name_of);

TEST_P(InboxContract, AMessageIsReadAsItWasPosted) {
  const Body body = Body::from_text(R"({"approve":  true})");
  clock.advance(1s);

  must(store->inbox().post({session, message_id("m1"), "approval", body}));

  EXPECT_THAT(must(store->inbox().list(session, 10)),
              ElementsAre(InboxMessage{session, message_id("m1"), "approval", body, clock.now()}));
}

TEST_P(InboxContract, PostingNeedsNoLease) {
  const Lease lease = own(session, "someone else");

  post(session, "m1");

  EXPECT_THAT(pending(), ElementsAre("m1"));
  say(lease, "the owner goes on");
}

TEST_P(InboxContract, OddBytesAreKept) {
  std::string bytes;
  for (int i = 255; i >= 0; --i) bytes += static_cast<char>(i);

  post(session, "m1", bytes);

  EXPECT_EQ(must(store->inbox().list(session, 1)).at(0).body, Body::from_bytes(bytes));
}

TEST_P(InboxContract, MessagesAreListedInOrderOfArrival) {
  for (const auto* id : {"z", "a", "m", "B"}) post(session, id);

  EXPECT_THAT(pending(), ElementsAre("z", "a", "m", "B"));
  EXPECT_THAT(pending(2), ElementsAre("z", "a"));
}

TEST_P(InboxContract, ASecondPostUnderTheSameIdChangesNothing) {
  post(session, "m1", "first");
  const auto before = everything(*store);
  clock.advance(1s);

  EXPECT_TRUE(
      store->inbox().post({session, message_id("m1"), "other", Body::from_bytes("second")}));

  EXPECT_EQ(everything(*store), before);
}

TEST_P(InboxContract, AConsumedMessageStaysConsumedWhenPostedAgain) {
  const Lease lease = own(session);
  post(session, "m1");
  consume(lease, "m1");
  const auto before = everything(*store);

  post(session, "m1");

  EXPECT_THAT(pending(), IsEmpty());
  EXPECT_EQ(everything(*store), before);
}

TEST_P(InboxContract, EachSessionHasAnInboxOfItsOwn) {
  const SessionId other = create("other");
  post(session, "m1", "for one");
  post(other, "m1", "for the other");

  EXPECT_EQ(must(store->inbox().list(session, 1)).at(0).body.bytes(), "for one");
  EXPECT_EQ(must(store->inbox().list(other, 1)).at(0).body.bytes(), "for the other");
}

TEST_P(InboxContract, AMessageIsConsumedInTheSessionItWasPostedTo) {
  const Lease other = own(create("other"));
  post(session, "m1");
  Batch made = batch(other.session);
  made.consumed = {message_id("m1")};

  EXPECT_EQ(code_of(store->commit(other, made)), ErrorCode::conflict);
  EXPECT_THAT(pending(), ElementsAre("m1"));
}

TEST_P(InboxContract, AnUnknownSessionIsNotFound) {
  const SessionId nobody = session_id("nobody");

  EXPECT_EQ(code_of(store->inbox().post({nobody, message_id("m1"), "note", {}})),
            ErrorCode::not_found);
  EXPECT_EQ(code_of(store->inbox().list(nobody, 10)), ErrorCode::not_found);
}

TEST_P(InboxContract, ABadMessageIsRefused) {
  const auto refused = [&](const MessageId& id, const std::string& kind) {
    return code_of(store->inbox().post({session, id, kind, {}}));
  };

  EXPECT_EQ(refused({}, "note"), ErrorCode::invalid_argument);
  EXPECT_EQ(refused(message_id("m1"), ""), ErrorCode::invalid_argument);
  EXPECT_EQ(refused(message_id("m1"), "a\tb"), ErrorCode::invalid_argument);
  EXPECT_EQ(refused(message_id("m1"), std::string(129, 'x')), ErrorCode::invalid_argument);
  EXPECT_THAT(pending(), IsEmpty());
}

TEST_P(InboxContract, ABadLimitIsRefused) {
  EXPECT_EQ(code_of(store->inbox().list(session, 0)), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of(store->inbox().list(session, limit_max + 1)), ErrorCode::invalid_argument);
}

TEST_P(InboxContract, AMessageWakesAWaitingSessionNotLaterThanNow) {
  const Lease lease = own(session);
  change(lease, {.status = Status::waiting, .wake_at = clock.now() + 1h});
  clock.advance(1s);
  post(session, "m1");
  EXPECT_EQ(row(session).wake_at, clock.now());

  clock.advance(1s);
  post(session, "m2");
  EXPECT_EQ(row(session).wake_at, clock.now() - 1s) << "an earlier wake time stays";
}

TEST_P(InboxContract, AMessageGivesNoWakeTimeToASessionThatDoesNotWait) {
  post(session, "m1");

  EXPECT_EQ(row(session).wake_at, std::nullopt);
  EXPECT_EQ(row(session).status, Status::active);
}

}  // namespace
}  // namespace perdure
