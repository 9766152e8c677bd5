// Sessions::list and Sessions::due made executable.

#include "contract/store_contract.hpp"

namespace perdure {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

std::vector<std::string> names(const std::vector<SessionSummary>& sessions) {
  std::vector<std::string> found;
  for (const SessionSummary& session : sessions) found.push_back(session.id.text());
  return found;
}

class Lists : public StoreContract {
 protected:
  std::vector<std::string> list(const SessionQuery& query) {
    return names(must(store->sessions().list(query)).sessions);
  }
  std::vector<std::string> due(std::size_t limit = 100) {
    return names(must(store->sessions().due(limit)));
  }
  SessionId create_as(const std::string& name, Status status,
                      std::optional<Timestamp> wake_at = {}) {
    NewSession made{.id = session_id(name), .status = status};
    made.wake_at = wake_at;
    return create(made);
  }
  SessionId titled(const std::string& name, const std::string& title,
                   const std::string& opening = {}) {
    NewSession made{.id = session_id(name)};
    made.annotation = {.title = title, .opening = opening};
    return create(made);
  }
};

INSTANTIATE_TEST_SUITE_P(EveryBackend, Lists, testing::ValuesIn(every_form()), name_of);

TEST_P(Lists, WithoutFiltersAllSessionsAreListedLastUpdatedFirst) {
  for (const auto* name : {"a", "b", "c"}) {
    create(name);
    clock.advance(1s);
  }
  must(store->sessions().annotate(session_id("b"), {.title = "touched"}));

  EXPECT_THAT(list({}), ElementsAre("b", "c", "a"));
}

TEST_P(Lists, AListedSessionIsTheSessionAsItIsRead) {
  own(create("a"));

  EXPECT_THAT(must(store->sessions().list({})).sessions, ElementsAre(row(session_id("a"))));
}

TEST_P(Lists, APrefixOfTheIdSelects) {
  for (const auto* name :
       {"ses_a", "ses_ab", "ses_abc", "ses_b", "SES_ab", "ses_a\u00e9", "ses_a%"}) {
    create(name);
  }

  EXPECT_THAT(list({.id_prefix = "ses_a"}),
              UnorderedElementsAre("ses_a", "ses_ab", "ses_abc", "ses_a\u00e9", "ses_a%"));
  EXPECT_THAT(list({.id_prefix = "ses_ab"}), UnorderedElementsAre("ses_ab", "ses_abc"));
  EXPECT_THAT(list({.id_prefix = "ses_abc"}), ElementsAre("ses_abc"));
  EXPECT_THAT(list({.id_prefix = "ses_a\u00e9"}), ElementsAre("ses_a\u00e9"));
  EXPECT_THAT(list({.id_prefix = "ses_abcd"}), IsEmpty());
  EXPECT_THAT(list({.id_prefix = "%"}), IsEmpty());
  EXPECT_THAT(list({.id_prefix = std::string(500, 's')}), IsEmpty());
}

// The last character there is comes after every other one, also behind a prefix.
TEST_P(Lists, APrefixFindsTheLastIdsThereCanBe) {
  const std::string last = "\xF4\x8F\xBF\xBF";
  create("p" + last + last + "x");
  create("q");

  EXPECT_THAT(list({.id_prefix = "p"}), ElementsAre("p" + last + last + "x"));
}

TEST_P(Lists, APrefixPagesAndSortsLikeAnyQuery) {
  for (const auto* name : {"x1", "y1", "x2", "x3", "y2"}) {
    create(name);
    clock.advance(1s);
  }

  const SessionQuery query{.id_prefix = "x", .limit = 2};
  const SessionPage page = must(store->sessions().list(query));
  EXPECT_THAT(names(page.sessions), ElementsAre("x3", "x2"));
  SessionQuery next = query;
  next.cursor = page.next;
  EXPECT_THAT(list(next), ElementsAre("x1"));
  next.id_prefix = "y";
  EXPECT_EQ(code_of(store->sessions().list(next)), ErrorCode::invalid_argument);
}

TEST_P(Lists, APrefixThatIsNotTextIsRefused) {
  create("ses_a\u00e9");

  EXPECT_EQ(code_of(store->sessions().list({.id_prefix = "ses_a\xC3"})),
            ErrorCode::invalid_argument);
  EXPECT_EQ(code_of(store->sessions().list({.id_prefix = std::string("s\0", 2)})),
            ErrorCode::invalid_argument);
}

TEST_P(Lists, StatusesSelect) {
  create_as("a", Status::active);
  create_as("b", Status::waiting);
  create_as("c", Status::failed);

  EXPECT_THAT(list({.statuses = {Status::waiting, Status::failed}}),
              UnorderedElementsAre("b", "c"));
  EXPECT_THAT(list({.statuses = {Status::paused}}), IsEmpty());
}

TEST_P(Lists, AttentionSelects) {
  create("a");
  const Lease lease = own(create("b"));
  in_state(lease, CallState::in_doubt);

  EXPECT_THAT(list({.needs_attention = true}), ElementsAre("b"));
  EXPECT_THAT(list({.needs_attention = false}), ElementsAre("a"));
}

TEST_P(Lists, TheParentSelectsForksAndChildren) {
  const SessionId parent = create("parent");
  fork("fork", parent, Point::head());
  NewSession child{.id = session_id("child")};
  child.origin = NewSession::Origin{.session = parent, .lineage = Lineage::child};
  create(child);
  fork("grandchild", session_id("fork"), Point::head());

  EXPECT_THAT(list({.parent = parent}), UnorderedElementsAre("fork", "child"));
  EXPECT_THAT(list({.parent = session_id("nobody")}), IsEmpty());
}

TEST_P(Lists, ATagSelectsWholeTagsOnly) {
  const auto tagged = [&](const std::string& name, std::vector<std::string> tags) {
    NewSession made{.id = session_id(name)};
    made.annotation.tags = std::move(tags);
    create(made);
  };
  tagged("a", {"red", "blue"});
  tagged("b", {"reddish"});
  tagged("c", {"re\"d", "%"});

  EXPECT_THAT(list({.tag = "red"}), ElementsAre("a"));
  EXPECT_THAT(list({.tag = "%"}), ElementsAre("c"));
  EXPECT_THAT(list({.tag = "re"}), IsEmpty());
}

TEST_P(Lists, ContainsLooksInTitleAndOpeningIgnoringAsciiCase) {
  titled("a", "Deploy the API");
  titled("b", "Other", "please DEPLOY it");
  titled("c", "Other");

  EXPECT_THAT(list({.contains = "dePLoy"}), UnorderedElementsAre("a", "b"));
  EXPECT_THAT(list({.contains = "Deploy please"}), IsEmpty());
}

TEST_P(Lists, ContainsIsPlainTextNotAPattern) {
  titled("a", "100% done_now");
  titled("b", "100x doneXnow");
  titled("c", "it's 'quoted' \\ ÄÖ");

  EXPECT_THAT(list({.contains = "0% d"}), ElementsAre("a"));
  EXPECT_THAT(list({.contains = "done_n"}), ElementsAre("a"));
  EXPECT_THAT(list({.contains = "'QUOTED' \\"}), ElementsAre("c"));
  EXPECT_THAT(list({.contains = "ÄÖ"}), ElementsAre("c"));
  EXPECT_THAT(list({.contains = "äö"}), IsEmpty());
}

TEST_P(Lists, AllFiltersMustMatch) {
  NewSession made{.id = session_id("a"), .status = Status::paused};
  made.annotation = {.title = "Find me", .tags = std::vector<std::string>{"red"}};
  create(made);

  EXPECT_THAT(list({.statuses = {Status::paused}, .tag = "red", .contains = "find"}),
              ElementsAre("a"));
  EXPECT_THAT(list({.statuses = {Status::active}, .tag = "red", .contains = "find"}), IsEmpty());
  EXPECT_THAT(list({.statuses = {Status::paused}, .tag = "blue", .contains = "find"}), IsEmpty());
  EXPECT_THAT(list({.statuses = {Status::paused}, .tag = "red", .contains = "lose"}), IsEmpty());
}

TEST_P(Lists, SessionsAreSortedByWhatTheQuerySays) {
  const auto spend = [&](const std::string& name, const std::string& title, std::int64_t turns,
                         std::int64_t cost) {
    const Lease lease = own(titled(name, title));
    Batch made = batch_of(lease.session, {message("x")});
    made.entries[0].tally = {.turns = turns, .cost_micros = cost};
    commit(lease, made);
    clock.advance(1s);
  };
  spend("a", "Mid", 3, 10);
  spend("b", "Zed", 20, -5);
  spend("c", "Alpha", 1, 1'000'000'000'000);
  must(store->sessions().annotate(session_id("a"), {.opening = "touched"}));
  const auto ascending = [&](SessionSort sort) {
    return list({.sort = sort, .descending = false});
  };

  EXPECT_THAT(ascending(SessionSort::updated), ElementsAre("b", "c", "a"));
  EXPECT_THAT(ascending(SessionSort::created), ElementsAre("a", "b", "c"));
  EXPECT_THAT(ascending(SessionSort::title), ElementsAre("c", "a", "b"));
  EXPECT_THAT(ascending(SessionSort::turns), ElementsAre("c", "a", "b"));
  EXPECT_THAT(ascending(SessionSort::cost), ElementsAre("b", "a", "c"));
  EXPECT_THAT(list({.sort = SessionSort::cost}), ElementsAre("c", "a", "b"));
}

TEST_P(Lists, TiesAreBrokenByIdInTheSameDirection) {
  for (const auto* name : {"b", "c", "a", "B"}) create(name);

  for (const SessionSort sort : {SessionSort::updated, SessionSort::created, SessionSort::title,
                                 SessionSort::turns, SessionSort::cost}) {
    EXPECT_THAT(list({.sort = sort, .descending = false}), ElementsAre("B", "a", "b", "c"));
    EXPECT_THAT(list({.sort = sort, .descending = true}), ElementsAre("c", "b", "a", "B"));
  }
}

TEST_P(Lists, PagesTogetherHoldEverySessionOnce) {
  for (int i = 0; i < 10; ++i) {
    titled("s" + std::to_string(i), i % 2 == 0 ? "even" : "odd 'title'");
    if (i % 3 == 0) clock.advance(1s);
  }
  for (const SessionSort sort : {SessionSort::updated, SessionSort::created, SessionSort::title,
                                 SessionSort::turns, SessionSort::cost}) {
    for (const bool descending : {true, false}) {
      SessionQuery query{.sort = sort, .descending = descending};
      const auto whole = list(query);
      query.limit = 3;
      std::vector<std::string> paged;
      std::size_t pages = 0;
      do {
        const SessionPage page = must(store->sessions().list(query));
        EXPECT_LE(page.sessions.size(), 3U);
        for (const auto& name : names(page.sessions)) paged.push_back(name);
        query.cursor = page.next;
        ++pages;
      } while (!query.cursor.empty() && pages < 10);
      EXPECT_EQ(paged, whole);
      EXPECT_EQ(pages, 4U);
    }
  }
}

TEST_P(Lists, AtTheEndThereIsNoCursor) {
  EXPECT_EQ(must(store->sessions().list({})).next, "");
  create("a");
  create("b");

  EXPECT_EQ(must(store->sessions().list({.limit = 2})).next, "");
  EXPECT_NE(must(store->sessions().list({.limit = 1})).next, "");
}

TEST_P(Lists, ASessionThatDoesNotChangeIsSeenOnceWhileOthersDo) {
  for (const auto* name : {"a", "b", "c", "d"}) {
    create(name);
    clock.advance(1s);
  }
  SessionQuery query{.limit = 2};
  const SessionPage first = must(store->sessions().list(query));
  ASSERT_THAT(names(first.sessions), ElementsAre("d", "c"));

  must(store->sessions().annotate(session_id("c"), {.title = "touched"}));
  create("new");
  query.cursor = first.next;

  EXPECT_THAT(list(query), ElementsAre("b", "a"));
}

TEST_P(Lists, ACursorServesWithAnotherLimit) {
  for (const auto* name : {"a", "b", "c"}) create(name);
  SessionQuery query{.limit = 1};
  query.cursor = must(store->sessions().list(query)).next;
  query.limit = 10;

  EXPECT_THAT(list(query), ElementsAre("b", "a"));
}

TEST_P(Lists, ACursorOfAnotherQueryIsRefused) {
  create("a");
  create("b");
  const std::string cursor = must(store->sessions().list({.limit = 1})).next;
  const std::vector<SessionQuery> others{
      {.statuses = {Status::active}, .cursor = cursor},
      {.needs_attention = false, .cursor = cursor},
      {.parent = session_id("a"), .cursor = cursor},
      {.tag = "x", .cursor = cursor},
      {.contains = "x", .cursor = cursor},
      {.sort = SessionSort::created, .cursor = cursor},
      {.descending = false, .cursor = cursor},
      {.cursor = cursor + "x"},
      {.cursor = "nonsense"},
  };

  for (std::size_t i = 0; i < others.size(); ++i) {
    EXPECT_EQ(code_of(store->sessions().list(others[i])), ErrorCode::invalid_argument) << i;
  }
}

TEST_P(Lists, LimitsOfZeroAndBeyondTheMaximumAreRefused) {
  for (const std::size_t limit : {std::size_t{0}, limit_max + 1}) {
    EXPECT_EQ(code_of(store->sessions().list({.limit = limit})), ErrorCode::invalid_argument);
    EXPECT_EQ(code_of(store->sessions().due(limit)), ErrorCode::invalid_argument);
  }
  EXPECT_TRUE(store->sessions().list({.limit = limit_max}));
  EXPECT_TRUE(store->sessions().due(limit_max));
}

TEST_P(Lists, AnActiveSessionWithoutALivingOwnerIsDue) {
  const SessionId id = create("a");
  EXPECT_THAT(due(), ElementsAre("a"));

  own(id);
  EXPECT_THAT(due(), IsEmpty());

  clock.advance(31s);
  EXPECT_THAT(due(), ElementsAre("a"));
}

TEST_P(Lists, AWaitingSessionIsDueWhenItsWakeTimeHasCome) {
  create_as("a", Status::waiting, clock.now() + 2s);
  create_as("never", Status::waiting);
  clock.advance(1999ms);
  EXPECT_THAT(due(), IsEmpty());

  clock.advance(1ms);
  EXPECT_THAT(due(), ElementsAre("a"));
}

TEST_P(Lists, AWaitingSessionWithALivingOwnerIsNotDue) {
  own(create_as("a", Status::waiting, clock.now()));

  EXPECT_THAT(due(), IsEmpty());
}

TEST_P(Lists, ASessionThatRestsIsNeverDue) {
  for (const Status status :
       {Status::paused, Status::completed, Status::failed, Status::cancelled}) {
    create_as(std::string(to_string(status)), status, clock.now());
  }
  post(session_id("paused"), "m1");
  clock.advance(1s);

  EXPECT_THAT(due(), IsEmpty());
}

TEST_P(Lists, AMessageMakesAWaitingSessionDueAtOnce) {
  const SessionId id = create_as("a", Status::waiting, clock.now() + 1h);
  create_as("b", Status::waiting);
  clock.advance(1s);

  post(id, "m1");
  post(session_id("b"), "m1");

  EXPECT_THAT(due(), ElementsAre("a", "b"));
  EXPECT_EQ(row(id).wake_at, clock.now());
}

TEST_P(Lists, TheLongestDueComeFirst) {
  create_as("waits", Status::waiting, clock.now() + 1s);
  create("old");
  clock.advance(2s);
  create("young");
  create("also young");

  EXPECT_THAT(due(), ElementsAre("old", "waits", "also young", "young"));
  EXPECT_THAT(due(2), ElementsAre("old", "waits"));
}

TEST_P(Lists, ADueSessionIsTheSessionAsItIsRead) {
  const SessionId id = create("a");

  EXPECT_THAT(must(store->sessions().due(1)), ElementsAre(row(id)));
}

}  // namespace
}  // namespace perdure
