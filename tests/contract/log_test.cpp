// log.hpp made executable, on one line; several lines are in branch_and_fork_test.cpp.

#include "contract/store_contract.hpp"
#include "store/api/lookup.hpp"

namespace perdure {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class LogContract : public StoreContract {
 protected:
  /// Positions 1 to 6: messages a, b, c on "transcript"; p1, p2 on "plan" between them.
  void fill() {
    commit(lease, batch_of(session, {message("a"), value("p1")}));
    checkpoint(lease, "first");
    commit(lease, batch_of(session, {message("b"), value("p2"), message("c")}));
    checkpoint(lease, "second");
    commit(lease, batch_of(session, {message("side", "scratch")}));
  }
  std::optional<std::string> find(const std::string& channel, Point point = {}) {
    const auto found = must(store->log().find_value(session, channel, point));
    return found ? std::optional(found->body.bytes()) : std::nullopt;
  }
  std::vector<Version> versions(const CheckpointQuery& query) {
    std::vector<Version> found;
    for (const auto& one : must(store->log().checkpoints(session, query))) {
      found.push_back(one.version);
    }
    return found;
  }

  SessionId session = create();
  Lease lease = own(session);
};

INSTANTIATE_TEST_SUITE_P(EveryBackend, LogContract, testing::ValuesIn(every_form()), name_of);

TEST_P(LogContract, WithoutConditionsTheWholeLineIsReadOldestFirst) {
  fill();

  EXPECT_THAT(texts(session), ElementsAre("a", "p1", "b", "p2", "c", "side"));
}

TEST_P(LogContract, ARangeIncludesBothEnds) {
  fill();

  EXPECT_THAT(positions(session, {.from = 2, .to = 4}), ElementsAre(2U, 3U, 4U));
  EXPECT_THAT(positions(session, {.from = 3, .to = 3}), ElementsAre(3U));
  EXPECT_THAT(positions(session, {.from = 0, .to = 1}), ElementsAre(1U));
  EXPECT_THAT(positions(session, {.from = 5}), ElementsAre(5U, 6U));
}

TEST_P(LogContract, ARangeWithoutEntriesIsNotAnError) {
  EXPECT_THAT(texts(session), IsEmpty());
  fill();

  EXPECT_THAT(texts(session, {.from = 7}), IsEmpty());
  EXPECT_THAT(texts(session, {.from = 4, .to = 2}), IsEmpty());
  EXPECT_THAT(texts(session, {.to = 0}), IsEmpty());
  EXPECT_THAT(texts(session, {.channel = "no such channel"}), IsEmpty());
  const Position last = std::numeric_limits<Position>::max();
  EXPECT_THAT(texts(session, {.from = last, .to = last}), IsEmpty());
}

TEST_P(LogContract, AChannelSelects) {
  fill();

  EXPECT_THAT(texts(session, {.channel = "plan"}), ElementsAre("p1", "p2"));
  EXPECT_THAT(texts(session, {.from = 3, .channel = "plan"}), ElementsAre("p2"));
  EXPECT_THAT(texts(session, {.channel = "Plan"}), IsEmpty());
}

TEST_P(LogContract, TheLimitCutsAtTheFarEndOfTheOrder) {
  fill();

  EXPECT_THAT(texts(session, {.limit = 2}), ElementsAre("a", "p1"));
  EXPECT_THAT(texts(session, {.order = Order::newest_first, .limit = 2}), ElementsAre("side", "c"));
  EXPECT_THAT(texts(session, {.from = 2, .to = 4, .order = Order::newest_first}),
              ElementsAre("p2", "b", "p1"));
  EXPECT_THAT(texts(session, {.channel = "plan", .order = Order::newest_first, .limit = 1}),
              ElementsAre("p2"));
}

TEST_P(LogContract, AVersionIsReadAsItWas) {
  fill();

  EXPECT_THAT(texts(session, as_of(Point::version(1))), ElementsAre("a", "p1"));
  EXPECT_THAT(texts(session, as_of(Point::version(2))), ElementsAre("a", "p1", "b", "p2", "c"));
  EXPECT_THAT(texts(session, {.as_of = Point::version(2), .channel = "plan"}),
              ElementsAre("p1", "p2"));
}

TEST_P(LogContract, APositionIsReadAsItWas) {
  fill();

  EXPECT_THAT(texts(session, as_of(Point::position(3))), ElementsAre("a", "p1", "b"));
  EXPECT_THAT(texts(session, {.as_of = Point::position(3), .from = 2, .to = 5}),
              ElementsAre("p1", "b"));
  EXPECT_THAT(texts(session, as_of(Point::position(0))), IsEmpty());
}

TEST_P(LogContract, WhatDoesNotExistIsNotFound) {
  fill();
  Log& log = store->log();
  for (const Point point : {Point::version(0), Point::version(3), Point::position(7)}) {
    EXPECT_EQ(code_of(log.read(session, as_of(point))), ErrorCode::not_found) << describe(point);
    EXPECT_EQ(code_of(log.find_value(session, "plan", point)), ErrorCode::not_found);
    EXPECT_EQ(code_of(store->lookup().line(session, point)), ErrorCode::not_found)
        << describe(point);
  }
  const SessionId nobody = session_id("nobody");
  EXPECT_EQ(code_of(log.read(nobody, {})), ErrorCode::not_found);
  EXPECT_EQ(code_of(log.find_value(nobody, "plan", {})), ErrorCode::not_found);
  EXPECT_EQ(code_of(store->lookup().line(nobody, {})), ErrorCode::not_found);
  EXPECT_EQ(code_of(log.checkpoints(nobody, {})), ErrorCode::not_found);
  EXPECT_EQ(code_of(log.read_checkpoint(nobody, 1)), ErrorCode::not_found);
  EXPECT_EQ(code_of(log.read_checkpoint(session, 0)), ErrorCode::not_found);
  EXPECT_EQ(code_of(log.read_checkpoint(session, 3)), ErrorCode::not_found);
}

TEST_P(LogContract, LimitsOfZeroAndBeyondTheMaximumAreRefused) {
  for (const std::size_t limit : {std::size_t{0}, limit_max + 1}) {
    EXPECT_EQ(code_of(store->log().read(session, {.limit = limit})), ErrorCode::invalid_argument);
    EXPECT_EQ(code_of(store->log().checkpoints(session, {.limit = limit})),
              ErrorCode::invalid_argument);
  }
}

TEST_P(LogContract, TheValueOfAChannelIsItsLastReplaceEntry) {
  fill();

  EXPECT_EQ(find("plan"), "p2");
  EXPECT_EQ(find("plan", Point::version(1)), "p1");
  EXPECT_EQ(find("plan", Point::position(3)), "p1");
  EXPECT_EQ(find("plan", Point::position(4)), "p2");
}

TEST_P(LogContract, AChannelWithoutAValueIsNotAnError) {
  fill();

  EXPECT_EQ(find("transcript"), std::nullopt);
  EXPECT_EQ(find("no such channel"), std::nullopt);
  EXPECT_EQ(find("plan", Point::position(1)), std::nullopt);
  EXPECT_EQ(find("plan", Point::position(0)), std::nullopt);
}

TEST_P(LogContract, AppendEntriesAfterAValueDoNotHideIt) {
  commit(lease, batch_of(session, {value("v", "mixed"), message("m", "mixed")}));

  EXPECT_EQ(find("mixed"), "v");
}

TEST_P(LogContract, AFoundValueIsTheEntryAsItIsRead) {
  fill();

  const auto found = must(store->log().find_value(session, "plan", {}));

  EXPECT_THAT(must(store->log().read(session, {.from = 4, .to = 4})), ElementsAre(found.value()));
}

TEST_P(LogContract, CheckpointsAreListedNewestFirst) {
  fill();

  EXPECT_THAT(must(store->log().checkpoints(session, {})),
              ElementsAre(must(store->log().read_checkpoint(session, 2)),
                          must(store->log().read_checkpoint(session, 1))));
}

TEST_P(LogContract, CheckpointsAreSelectedByVersionLabelAndLimit) {
  for (const auto* label : {"x", "y", "x", "", "x"}) checkpoint(lease, label);

  EXPECT_THAT(versions({.before = 3}), ElementsAre(2U, 1U));
  EXPECT_THAT(versions({.before = 1}), IsEmpty());
  EXPECT_THAT(versions({.label = "x"}), ElementsAre(5U, 3U, 1U));
  EXPECT_THAT(versions({.label = "x", .limit = 2}), ElementsAre(5U, 3U));
  EXPECT_THAT(versions({.before = 5, .label = "x", .limit = 1}), ElementsAre(3U));
  EXPECT_THAT(versions({.label = "X"}), IsEmpty());
}

TEST_P(LogContract, CheckpointsAreSelectedByMetadataAsJsonValues) {
  for (const auto* metadata :
       {R"({"n": 1, "s": "a"})", R"({"n": 1.0, "s": "b"})", R"({"n": "1"})",
        R"({"o": {"b": 1, "a": [1]}})", R"({"n": null, "it's": true})", "{}"}) {
    Batch made = batch(session);
    made.checkpoint = NewCheckpoint{.metadata = metadata};
    commit(lease, made);
  }
  const auto with = [&](std::vector<std::pair<std::string, Json>> members) {
    return versions({.metadata = std::move(members)});
  };

  EXPECT_THAT(with({{"n", Json(1)}}), ElementsAre(2U, 1U));
  EXPECT_THAT(with({{"n", Json("1")}}), ElementsAre(3U));
  EXPECT_THAT(with({{"n", Json(nullptr)}}), ElementsAre(5U));
  EXPECT_THAT(with({{"n", Json(1)}, {"s", Json("b")}}), ElementsAre(2U));
  EXPECT_THAT(with({{"o", must(parse_json(R"({"a":[1.0],"b":1})"))}}), ElementsAre(4U));
  EXPECT_THAT(with({{"it's", Json(true)}}), ElementsAre(5U));
  EXPECT_THAT(with({{"missing", Json(nullptr)}}), IsEmpty());
  EXPECT_THAT(with({{"o.b", Json(1)}}), IsEmpty());
}

TEST_P(LogContract, TheMetadataLimitCountsMatchesOnly) {
  for (int i = 0; i < 6; ++i) {
    Batch made = batch(session);
    made.checkpoint = NewCheckpoint{.metadata = i % 3 == 0 ? R"({"k": 1})" : "{}"};
    commit(lease, made);
  }

  EXPECT_THAT(versions({.metadata = {{"k", Json(1)}}, .limit = 2}), ElementsAre(4U, 1U));
}

TEST_P(LogContract, TheLineOfASessionWithoutForksIsItsRoot) {
  fill();

  const auto line = must(store->lookup().line(session, {}));

  ASSERT_EQ(line.size(), 1U);
  EXPECT_EQ(line[0].session, session);
  EXPECT_EQ(line[0].first, 1U);
  EXPECT_EQ(line[0].parent, std::nullopt);
  EXPECT_EQ(must(store->log().read(session, {})).at(0).segment, line[0].id);
}

TEST_P(LogContract, ReceiptsAreFoundByBatch) {
  const Receipt first = say(lease, "one");
  const Receipt second = say(lease, "two");

  EXPECT_EQ(must(store->lookup().find_receipt(session, first.batch)), first);
  EXPECT_EQ(must(store->lookup().find_receipt(session, second.batch)), second);
  EXPECT_EQ(must(store->lookup().find_receipt(session, batch_id("unknown"))), std::nullopt);
}

}  // namespace
}  // namespace perdure
