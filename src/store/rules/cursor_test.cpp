// A cursor is good for the query it came from, and for nothing else.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/sessions.hpp"
#include "rules/queries.hpp"

namespace perdure::rules {
namespace {

Result<Mark> reread(SessionQuery query, const std::string& cursor) {
  query.cursor = cursor;
  return from_cursor(query);
}

TEST(Cursor, GivesTheMarkBackToTheSameQuery) {
  const std::vector<Mark> marks = {
      {std::int64_t{0}, "ses_1"},
      {std::numeric_limits<std::int64_t>::min(), "a:b"},
      {std::numeric_limits<std::int64_t>::max(), "é"},
      {std::string(), "ses_1"},
      {std::string("5:a title: n7:"), "ses_1"},
  };
  for (const Mark& mark : marks) {
    const auto read = reread({}, to_cursor({}, mark));
    ASSERT_TRUE(read) << mark.id;
    EXPECT_EQ(*read, mark);
  }
}

TEST(Cursor, LimitMayChangeBetweenPages) {
  SessionQuery query;
  const std::string cursor = to_cursor(query, {std::int64_t{7}, "ses_1"});
  query.limit = 3;
  EXPECT_TRUE(reread(query, cursor));
}

TEST(Cursor, AnyOtherFieldOfTheQueryMayNot) {
  const std::vector<std::function<void(SessionQuery&)>> changes = {
      [](SessionQuery& query) { query.statuses = {Status::active}; },
      [](SessionQuery& query) { query.needs_attention = false; },
      [](SessionQuery& query) { query.needs_attention = true; },
      [](SessionQuery& query) { query.parent = SessionId::parse("ses_9").value(); },
      [](SessionQuery& query) { query.tag = "x"; },
      [](SessionQuery& query) { query.contains = "x"; },
      [](SessionQuery& query) { query.sort = SessionSort::cost; },
      [](SessionQuery& query) { query.descending = false; },
  };
  const std::string cursor = to_cursor({}, {std::int64_t{7}, "ses_1"});
  for (const auto& change : changes) {
    SessionQuery query;
    change(query);
    const auto read = reread(query, cursor);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, ErrorCode::invalid_argument);
  }
}

TEST(Cursor, NoOtherTextIsOne) {
  const std::string good = to_cursor({}, {std::int64_t{7}, "ses_1"});
  ASSERT_TRUE(reread({}, good));
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = bad[i] == '0' ? '1' : '0';
    EXPECT_FALSE(reread({}, bad)) << i;
    EXPECT_FALSE(reread({}, good.substr(0, i))) << i;
  }
  EXPECT_FALSE(reread({}, good + "00"));
  EXPECT_FALSE(reread({}, "not hexadecimal"));
  std::string upper = good;
  for (char& c : upper) c = static_cast<char>(c >= 'a' ? c - 'a' + 'A' : c);
  EXPECT_FALSE(reread({}, upper));
}

TEST(Cursor, MarksTheSessionByWhatTheQuerySortsBy) {
  SessionSummary session;
  session.id = SessionId::parse("ses_1").value();
  session.title = "Title";
  session.created_at = Timestamp(Duration(1));
  session.updated_at = Timestamp(Duration(2));
  session.tally.turns = 3;
  session.tally.cost_micros = -4;

  EXPECT_EQ(mark_of(session, SessionSort::created), (Mark{std::int64_t{1}, "ses_1"}));
  EXPECT_EQ(mark_of(session, SessionSort::updated), (Mark{std::int64_t{2}, "ses_1"}));
  EXPECT_EQ(mark_of(session, SessionSort::turns), (Mark{std::int64_t{3}, "ses_1"}));
  EXPECT_EQ(mark_of(session, SessionSort::cost), (Mark{std::int64_t{-4}, "ses_1"}));
  EXPECT_EQ(mark_of(session, SessionSort::title), (Mark{std::string("Title"), "ses_1"}));
}

}  // namespace
}  // namespace perdure::rules
