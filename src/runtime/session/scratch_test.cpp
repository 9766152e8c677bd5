// A session's scratchpad over every backend: in its log, and in the folder that mirrors it.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "contract/backends.hpp"
#include "doubles/counting_ids.hpp"
#include "doubles/fake_clock.hpp"
#include "doubles/must.hpp"
#include "doubles/temp_folder.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/scratchpad.hpp"
#include "perdure/runtime/session.hpp"
#include "perdure/store/open.hpp"
#include "perdure/store/store.hpp"

namespace perdure {
namespace {

namespace fs = std::filesystem;
using Why = ScratchProblem::Why;

std::optional<ErrorCode> refused_as(const auto& result) {
  if (result) return std::nullopt;
  return result.error().code;
}

class ScratchTest : public testing::TestWithParam<Backend> {
 protected:
  std::unique_ptr<Runtime> start() { return start_on(*store); }
  std::unique_ptr<Runtime> start_on(Store& with, std::int64_t pid = 7) {
    return must(Runtime::start(with, {.host = "here",
                                      .pid = pid,
                                      .renews_itself = false,
                                      .scratchpad_base = folder.path().string(),
                                      .clock = &clock,
                                      .ids = &ids}));
  }
  std::unique_ptr<Store> open_at(const StorePlace& where) {
    return must(open_store(where.location(), {.clock = &clock, .ids = &ids}));
  }
  static Annotation with_root(const std::string& root) {
    return {.metadata = Json(Json::Object{{"scratchpad_root", root}}).text()};
  }
  Session begin() { return must(runtime->create({.annotation = with_root("notes")})); }

  fs::path place(const SessionId& id) { return folder.path() / "notes" / id.text(); }
  fs::path file(const SessionId& id, const std::string& key) { return place(id) / (key + ".txt"); }
  std::string read(const SessionId& id, const std::string& key) {
    std::ifstream in(file(id, key));
    return in ? std::string(std::istreambuf_iterator<char>(in), {}) : "(none)";
  }
  void save(const SessionId& id, const std::string& key, const std::string& text) {
    std::ofstream(file(id, key)) << text;
  }
  std::vector<Entry> pad_entries(const SessionId& id) {
    return must(store->log().read(id, {.channel = "scratchpad"}));
  }
  std::uint64_t commits() { return store->upkeep().counters().commits; }

  TempFolder folder;
  StorePlace home{GetParam()};
  FakeClock clock;
  CountingIds ids;
  std::unique_ptr<Store> store = open_at(home);
  std::unique_ptr<Runtime> runtime = start();
};

TEST_P(ScratchTest, IsTheSameAfterAResume) {
  std::optional<Session> session = must(runtime->create());
  const std::string large(scratch_inline_bytes_max + 1, 'x');
  const std::string odd("\xff\0odd", 5);
  must(session->set_scratch("small", "one"));
  must(session->set_scratch("large", large));
  must(session->set_scratch("odd", odd));
  must(session->set_scratch("gone", "x"));
  must(session->erase_scratch("gone"));
  must(session->erase_scratch("never"));
  const State before = session->state();
  const SessionId id = session->id();
  session.reset();

  const Session again = must(start()->open(id));

  EXPECT_EQ(again.state(), before);
  EXPECT_TRUE(std::holds_alternative<BlobRef>(before.scratchpad.values.at("large")));
  EXPECT_EQ(must(again.find_scratch("small")), "one");
  EXPECT_EQ(must(again.find_scratch("large")), large);
  EXPECT_EQ(must(again.find_scratch("odd")), odd);
  EXPECT_EQ(must(again.find_scratch("gone")), std::nullopt);
}

TEST_P(ScratchTest, RefusesBadKeysAndTooMuch) {
  Session session = begin();
  for (const char* const key : {"", "..", "a/b", "a.b"}) {
    EXPECT_EQ(refused_as(session.set_scratch(key, "x")), ErrorCode::invalid_argument) << key;
    EXPECT_EQ(refused_as(session.erase_scratch(key)), ErrorCode::invalid_argument) << key;
  }
  const std::string much(scratch_value_bytes_max + 1, 'x');
  EXPECT_EQ(refused_as(session.set_scratch("k", much)), ErrorCode::invalid_argument);
}

TEST_P(ScratchTest, IsMirroredAfterEachChange) {
  Session session = begin();
  const std::string large(scratch_inline_bytes_max + 1, 'x');
  must(session.set_scratch("plan", "one"));
  EXPECT_EQ(read(session.id(), "plan"), "one");
  must(session.set_scratch("plan", large));
  EXPECT_EQ(read(session.id(), "plan"), large);
  must(session.erase_scratch("plan"));
  EXPECT_FALSE(fs::exists(file(session.id(), "plan")));
}

TEST_P(ScratchTest, TakesEditsInWithTheUsersMessage) {
  Session session = begin();
  must(session.set_scratch("plan", "ours"));
  must(session.set_scratch("old", "x"));
  save(session.id(), "plan", "theirs");
  save(session.id(), "new", std::string(scratch_inline_bytes_max + 1, 'n'));
  fs::remove(file(session.id(), "old"));
  const std::uint64_t before = commits();

  must(session.ask({}, user_says("go on")));

  EXPECT_EQ(commits(), before + 1);
  EXPECT_EQ(must(session.find_scratch("plan")), "theirs");
  EXPECT_EQ(must(session.find_scratch("new"))->size(), scratch_inline_bytes_max + 1);
  EXPECT_EQ(must(session.find_scratch("old")), std::nullopt);
  const auto entries = pad_entries(session.id());
  const auto last = must(scratch_entry_from_json(entries.back().kind, entries.back().body.bytes()));
  EXPECT_EQ(last.by, "outside");
  const auto ours =
      must(scratch_entry_from_json(entries.front().kind, entries.front().body.bytes()));
  EXPECT_EQ(ours.by, "");
  EXPECT_LT(entries.back().position, session.state().transcript.back().position);
}

TEST_P(ScratchTest, TakesEditsInAtResumeWithTheInput) {
  std::optional<Session> session = begin();
  const SessionId id = session->id();
  must(session->set_scratch("plan", "ours"));
  session.reset();
  save(id, "plan", "theirs");
  const std::uint64_t before = commits();
  {
    const Resumed resumed = must(runtime->resume(id, user_says("go on")));
    EXPECT_EQ(must(resumed.session.find_scratch("plan")), "theirs");
    EXPECT_EQ(commits(), before + 1);
  }
  const Resumed resumed = must(runtime->resume(id));
  EXPECT_EQ(commits(), before + 1);
}

// What keeps the folder from being written stands for a process that dies before it is.
TEST_P(ScratchTest, AMirrorThatWasNotWrittenIsNotTakenForAnEdit) {
  std::optional<Session> session = begin();
  const SessionId id = session->id();
  must(session->set_scratch("plan", "one"));
  must(session->set_scratch("gone", "x"));
  session.reset();
  fs::rename(folder.path() / "notes", folder.path() / "away");
  std::ofstream(folder.path() / "notes") << "in the way";
  session = must(runtime->open(id));
  must(session->set_scratch("plan", "two"));
  must(session->erase_scratch("gone"));
  must(session->set_scratch("new", "n"));
  ASSERT_FALSE(session->scratch_problems().empty());
  EXPECT_EQ(session->scratch_problems().front().why, Why::failed);
  session.reset();
  fs::remove(folder.path() / "notes");
  fs::rename(folder.path() / "away", folder.path() / "notes");
  const std::size_t entries = pad_entries(id).size();

  const Resumed resumed = must(runtime->resume(id));

  EXPECT_EQ(pad_entries(id).size(), entries);
  EXPECT_EQ(read(id, "plan"), "two");
  EXPECT_EQ(read(id, "gone"), "(none)");
  EXPECT_EQ(read(id, "new"), "n");
}

TEST_P(ScratchTest, AnEditWinsAndOursStaysInTheLog) {
  Session session = begin();
  must(session.set_scratch("plan", "one"));
  save(session.id(), "plan", "theirs");
  must(session.set_scratch("plan", "two"));
  EXPECT_EQ(read(session.id(), "plan"), "theirs");
  must(session.ask({}, user_says("go on")));
  EXPECT_EQ(must(session.find_scratch("plan")), "theirs");
  const auto entries = pad_entries(session.id());
  ASSERT_EQ(entries.size(), 3U);
  EXPECT_EQ(must(scratch_entry_from_json("set", entries[1].body.bytes())).value,
            ScratchValue("two"));
}

TEST_P(ScratchTest, FollowsTheSessionToAnOldPoint) {
  Session session = begin();
  must(session.set_scratch("plan", "one"));
  const Version first = must(session.checkpoint());
  must(session.set_scratch("plan", "two"));
  must(session.set_scratch("later", "x"));
  must(session.rewind(Point::version(first)));
  EXPECT_EQ(read(session.id(), "plan"), "one");
  EXPECT_EQ(read(session.id(), "later"), "(none)");
  must(session.ask({}, user_says("go on")));
  EXPECT_EQ(must(session.find_scratch("plan")), "one");
}

TEST_P(ScratchTest, AForkHasAFolderOfItsOwn) {
  Session session = begin();
  must(session.set_scratch("plan", "one"));
  const Forked forked =
      must(runtime->fork(session.id(), Point::head(), {.annotation = with_root("notes")}));
  must(session.set_scratch("plan", "two"));
  Resumed fork = must(runtime->resume(forked.id));
  EXPECT_EQ(read(forked.id, "plan"), "one");
  must(fork.session.set_scratch("plan", "three"));
  EXPECT_EQ(read(session.id(), "plan"), "two");
  EXPECT_EQ(read(forked.id, "plan"), "three");
}

TEST_P(ScratchTest, TheFolderOfAnOwnerThatDoesNotKnowYetIsLeftToIt) {
  Session old = begin();
  must(old.set_scratch("plan", "one"));
  const auto other = start_on(*store, 8);
  clock.advance(std::chrono::minutes(1));
  must(other->renew());
  Session now = must(other->open(old.id()));
  must(now.set_scratch("plan", "two"));
  EXPECT_EQ(read(now.id(), "plan"), "one");
  ASSERT_FALSE(now.scratch_problems().empty());
  EXPECT_EQ(now.scratch_problems().front().why, Why::in_use);
  EXPECT_EQ(refused_as(old.set_scratch("plan", "late")), ErrorCode::lease_lost);
  {
    const Session gone = std::move(old);
  }
  must(now.ask({}, user_says("go on")));
  EXPECT_EQ(must(now.find_scratch("plan")), "two");
  EXPECT_EQ(read(now.id(), "plan"), "two");
}

TEST_P(ScratchTest, ASessionOfTheSameIdInAnotherStoreStaysOutOfTheFolder) {
  const SessionId id = must(SessionId::parse("main"));
  std::optional<Session> session =
      must(runtime->create({.id = id, .annotation = with_root("notes")}));
  must(session->set_scratch("plan", "one"));
  session.reset();
  const StorePlace elsewhere(GetParam());
  const auto other_store = open_at(elsewhere);
  const auto other = start_on(*other_store);
  Session namesake = must(other->create({.id = id, .annotation = with_root("notes")}));
  must(namesake.set_scratch("plan", "other"));
  must(namesake.ask({}, user_says("go on")));
  EXPECT_EQ(must(namesake.find_scratch("plan")), "other");
  EXPECT_EQ(read(id, "plan"), "one");
  ASSERT_FALSE(namesake.scratch_problems().empty());
  EXPECT_EQ(namesake.scratch_problems().front().why, Why::foreign);
}

TEST_P(ScratchTest, AnIdThatIsAPathStaysWithinTheRoot) {
  const SessionId id = must(SessionId::parse("../../up"));
  Session session = must(runtime->create({.id = id, .annotation = with_root("notes")}));
  must(session.set_scratch("plan", "one"));
  EXPECT_TRUE(session.scratch_problems().empty());
  ASSERT_FALSE(fs::is_empty(folder.path() / "notes"));
  EXPECT_TRUE(fs::begin(fs::directory_iterator(folder.path() / "notes"))->is_directory());
}

TEST_P(ScratchTest, MovesWhenItsRootIsChanged) {
  Session session = begin();
  must(session.set_scratch("plan", "one"));
  must(session.annotate(with_root("elsewhere")));
  must(session.set_scratch("plan", "two"));
  EXPECT_EQ(read(session.id(), "plan"), "one");
  EXPECT_TRUE(fs::exists(folder.path() / "elsewhere" / session.id().text() / "plan.txt"));
}

TEST_P(ScratchTest, ALinkIsNamedAndNotFollowed) {
  Session session = begin();
  must(session.set_scratch("plan", "one"));
  std::ofstream(folder.file("secret")) << "secret";
  fs::create_symlink(folder.file("secret"), file(session.id(), "link"));
  must(session.ask({}, user_says("go on")));
  EXPECT_EQ(must(session.find_scratch("link")), std::nullopt);
  const auto problems = session.scratch_problems();
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].name, "link.txt");
  EXPECT_EQ(problems[0].why, Why::not_a_file);
}

INSTANTIATE_TEST_SUITE_P(EveryBackend, ScratchTest, testing::ValuesIn(every_backend()),
                         [](const auto& backend) { return backend.param.name; });

}  // namespace
}  // namespace perdure
