// retention.hpp made executable: erasing bodies.

#include "contract/store_contract.hpp"

namespace perdure {
namespace {

using testing::ElementsAre;

class EraseContract : public StoreContract {
 protected:
  Result<Freed> erase(const SessionId& session, const std::vector<Position>& positions) {
    return store->upkeep().erase(session, positions);
  }
};

INSTANTIATE_TEST_SUITE_P(EveryBackend, EraseContract, testing::ValuesIn(every_form()), name_of);

TEST_P(EraseContract, AnErasedEntryKeepsAllButItsBody) {
  const Lease lease = own(create());
  say(lease, "kept");
  say(lease, "secret");
  Entry expected = must(store->log().read(lease.session, {})).back();
  expected.body = Body();
  expected.condition = Condition::erased;

  EXPECT_EQ(must(erase(lease.session, {2})), (Freed{.items = 1, .bytes = 6}));

  const auto found = must(store->log().read(lease.session, {}));
  EXPECT_EQ(found.back(), expected);
  EXPECT_EQ(found.back().hash, sha256("secret"));
  EXPECT_EQ(found.front().body.bytes(), "kept");
}

TEST_P(EraseContract, AnErasedValueIsStillTheValue) {
  const Lease lease = own(create());
  commit(lease, batch_of(lease.session, {value("old"), value("new")}));

  must(erase(lease.session, {2}));

  const auto found = must(store->log().find_value(lease.session, "plan", Point::head()));
  EXPECT_EQ(found.value().position, 2U);
  EXPECT_EQ(found.value().condition, Condition::erased);
}

TEST_P(EraseContract, EveryForkThatSharesTheEntrySeesIt) {
  const Lease lease = own(create());
  say(lease, "secret");
  const SessionId other = fork("fork", lease.session, Point::head());

  must(erase(other, {1}));

  EXPECT_THAT(texts(lease.session), ElementsAre(""));
  EXPECT_THAT(texts(other), ElementsAre(""));
}

TEST_P(EraseContract, EntriesOnALineThatABranchHasLeftCanBeErased) {
  const Lease lease = own(create());
  say(lease, "shared");
  say(lease, "left");
  branch(lease, Point::position(1), "taken");

  must(erase(lease.session, {2}));

  EXPECT_THAT(texts(lease.session, as_of(Point::position(2))), ElementsAre("shared", ""));
}

TEST_P(EraseContract, ErasingTwiceIsNotAnError) {
  const Lease lease = own(create());
  say(lease, "secret");
  must(erase(lease.session, {1}));

  EXPECT_EQ(must(erase(lease.session, {1, 1})), Freed{});
}

TEST_P(EraseContract, APositionThatIsNotThereErasesNothing) {
  const Lease lease = own(create());
  say(lease, "kept");

  for (const Position missing : {Position{0}, Position{2}, Position{1} << 40U}) {
    EXPECT_EQ(code_of(erase(lease.session, {1, missing})), ErrorCode::not_found) << missing;
  }
  EXPECT_EQ(code_of(erase(session_id("nobody"), {1})), ErrorCode::not_found);
  EXPECT_THAT(texts(lease.session), ElementsAre("kept"));
}

TEST_P(EraseContract, AnEntryCanBeErasedWhereItsPointIsPruned) {
  const Lease lease = own(create());
  commit(lease, batch_of(lease.session, {value("old"), message("secret"), value("new")}));
  must(store->upkeep().prune(lease.session, {}));

  EXPECT_EQ(must(erase(lease.session, {2})).items, 1U);
  EXPECT_EQ(code_of(erase(lease.session, {1})), ErrorCode::not_found);
  EXPECT_THAT(texts(lease.session), ElementsAre("", "new"));
}

TEST_P(EraseContract, AnErasedBodyFreesNothingAgainWhenItIsPruned) {
  const Lease lease = own(create());
  commit(lease, batch_of(lease.session, {value("old"), value("new")}));
  must(erase(lease.session, {1}));

  EXPECT_EQ(must(store->upkeep().prune(lease.session, {})),
            (Pruned{.versions = 0, .entries = 1, .bytes = 0}));
}

TEST_P(EraseContract, ManyAreErasedInOneCall) {
  const Lease lease = own(create());
  Batch made = batch(lease.session);
  std::vector<Position> positions;
  for (Position position = 1; position <= 600; ++position) {
    made.entries.push_back(message("secret"));
    positions.push_back(position);
  }
  commit(lease, made);

  EXPECT_EQ(must(erase(lease.session, positions)), (Freed{.items = 600, .bytes = 3600}));
}

}  // namespace
}  // namespace perdure
