// What a query asks for, field by field.

#include <gtest/gtest.h>
#include <utility>

#include "perdure/core/json.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "rules/queries.hpp"

namespace perdure::rules {
namespace {

SessionSummary make_session() {
  SessionSummary session;
  session.id = SessionId::parse("ses_1").value();
  session.title = "Quarterly Report";
  session.opening = "write the\nÄnderung";
  session.tags = {"work", "urgent"};
  session.status = Status::waiting;
  session.parent = Parent{SessionId::parse("ses_0").value(), 3, Lineage::child};
  session.updated_at = Timestamp(Duration(100));
  return session;
}

TEST(SessionMatch, AnEmptyQueryWantsEverySession) {
  EXPECT_TRUE(matches(SessionQuery{}, make_session()));
  EXPECT_TRUE(matches(SessionQuery{}, SessionSummary{}));
}

TEST(SessionMatch, ByStatusAttentionParentAndTag) {
  SessionSummary session = make_session();
  SessionQuery query;
  query.statuses = {Status::active, Status::waiting};
  EXPECT_TRUE(matches(query, session));
  query.statuses = {Status::active};
  EXPECT_FALSE(matches(query, session));

  query = {};
  query.needs_attention = false;
  EXPECT_TRUE(matches(query, session));
  session.attention = 1;
  EXPECT_FALSE(matches(query, session));
  query.needs_attention = true;
  EXPECT_TRUE(matches(query, session));

  query = {};
  query.parent = SessionId::parse("ses_0").value();
  EXPECT_TRUE(matches(query, session));
  session.parent.reset();
  EXPECT_FALSE(matches(query, session));

  query = {};
  query.tag = "urgent";
  EXPECT_TRUE(matches(query, session));
  query.tag = "urg";
  EXPECT_FALSE(matches(query, session));
}

TEST(SessionMatch, ContainsIgnoresAsciiCaseOnly) {
  SessionQuery query;
  for (const char* text : {"report", "QUARTERLY r", "the\nÄ", "WRITE"}) {
    query.contains = text;
    EXPECT_TRUE(matches(query, make_session())) << text;
  }
  for (const char* text : {"änderung", "reports", "report write"}) {
    query.contains = text;
    EXPECT_FALSE(matches(query, make_session())) << text;
  }
}

Checkpoint with_metadata(std::string text) {
  Checkpoint checkpoint;
  checkpoint.version = 5;
  checkpoint.label = "release";
  checkpoint.metadata = std::move(text);
  return checkpoint;
}

TEST(CheckpointMatch, ByVersionAndLabel) {
  const Checkpoint checkpoint = with_metadata("{}");
  CheckpointQuery query;
  EXPECT_TRUE(matches(query, checkpoint));
  query.before = 6;
  EXPECT_TRUE(matches(query, checkpoint));
  query.before = 5;
  EXPECT_FALSE(matches(query, checkpoint));
  query = {};
  query.label = "release";
  EXPECT_TRUE(matches(query, checkpoint));
  query.label = "other";
  EXPECT_FALSE(matches(query, checkpoint));
}

bool has_member(const std::string& metadata, const std::string& key, const std::string& value) {
  CheckpointQuery query;
  query.metadata.emplace_back(key, parse_json(value).value());
  return matches(query, with_metadata(metadata));
}

TEST(CheckpointMatch, MetadataMembersAreEqualAsJsonValues) {
  EXPECT_TRUE(has_member(R"({"n": 1.0})", "n", "1"));
  EXPECT_TRUE(has_member(R"({"n": 100})", "n", "1e2"));
  EXPECT_FALSE(has_member(R"({"n": "1"})", "n", "1"));
  EXPECT_FALSE(has_member(R"({"n": 9007199254740993})", "n", "9007199254740992"));
  EXPECT_TRUE(has_member(R"({"o": {"a": 1, "b": [2]}})", "o", R"({"b":[2.0],"a":1})"));
  EXPECT_TRUE(has_member(R"({"s": "\u0041"})", "s", R"("A")"));
  EXPECT_TRUE(has_member(R"({"n": null})", "n", "null"));
  EXPECT_FALSE(has_member("{}", "n", "null"));
  EXPECT_FALSE(has_member(R"({"o": {"n": 1}})", "n", "1"));
  EXPECT_TRUE(has_member(R"({"big": 1e400})", "big", "1e400"));
}

TEST(CheckpointMatch, EveryMemberAskedForMustBeThere) {
  CheckpointQuery query;
  query.metadata = {{"a", Json(1)}, {"b", Json(true)}};
  EXPECT_TRUE(matches(query, with_metadata(R"({"b":true,"a":1,"c":0})")));
  EXPECT_FALSE(matches(query, with_metadata(R"({"a":1})")));
}

}  // namespace
}  // namespace perdure::rules
