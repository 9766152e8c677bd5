// A session's scratchpad over every backend: in its log, and in files.

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
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/records.hpp"
#include "runtime/api/session.hpp"

namespace perdure {
namespace {

namespace fs = std::filesystem;

std::optional<ErrorCode> refused_as(const auto& result) {
  if (result) return std::nullopt;
  return result.error().code;
}

class ScratchTest : public testing::TestWithParam<Backend> {
 protected:
  std::unique_ptr<Runtime> start() { return start_on(*store); }
  std::unique_ptr<Runtime> start_on(Store& with, std::int64_t pid = 7) {
    return must(Runtime::start(
        with, {.host = "here", .pid = pid, .renews_itself = false, .clock = &clock, .ids = &ids}));
  }
  std::unique_ptr<Store> open_at(const StorePlace& where) {
    return must(open_store(where.location(), {.clock = &clock, .ids = &ids}));
  }
  Session begin() { return must(runtime->create()); }

  [[nodiscard]] std::string root() const { return (folder.path() / "notes").string(); }
  std::string taken(Session& session) { return must(read_scratch_folder(session, root())); }
  std::string written(Session& session) { return must(write_scratch_folder(session, root())); }
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
  std::uint64_t commits() { return store->info().commits; }

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

TEST_P(ScratchTest, IsWrittenToItsFolder) {
  Session session = begin();
  const std::string large(scratch_inline_bytes_max + 1, 'x');
  must(session.set_scratch("plan", "one"));
  EXPECT_EQ(written(session), "");
  EXPECT_EQ(read(session.id(), "plan"), "one");
  must(session.set_scratch("plan", large));
  must(session.set_scratch("new", "n"));
  EXPECT_EQ(written(session), "");
  EXPECT_EQ(read(session.id(), "plan"), large);
  EXPECT_EQ(read(session.id(), "new"), "n");
  must(session.erase_scratch("plan"));
  EXPECT_EQ(written(session), "");
  EXPECT_FALSE(fs::exists(file(session.id(), "plan")));
  EXPECT_EQ(pad_entries(session.id()).size(), 5U) << "nothing is an edit: three, a blob, and one";
}

TEST_P(ScratchTest, WithoutNotesHasNoFolder) {
  Session session = begin();
  EXPECT_EQ(written(session), "");
  EXPECT_FALSE(fs::exists(folder.path() / "notes"));
}

TEST_P(ScratchTest, AnEditByHandWinsAndIsLogged) {
  std::optional<Session> session = begin();
  const SessionId id = session->id();
  must(session->set_scratch("plan", "ours"));
  EXPECT_EQ(written(*session), "");
  session.reset();
  save(id, "plan", "theirs");
  save(id, "new", std::string(scratch_inline_bytes_max + 1, 'n'));
  const std::uint64_t before = commits();
  session = must(runtime->open(id));

  EXPECT_EQ(taken(*session), "");

  EXPECT_EQ(commits(), before + 1);
  EXPECT_EQ(must(session->find_scratch("plan")), "theirs");
  EXPECT_EQ(must(session->find_scratch("new"))->size(), scratch_inline_bytes_max + 1);
  const auto entries = pad_entries(id);
  const auto ours =
      must(scratch_entry_from_json(entries.front().kind, entries.front().body.bytes()));
  EXPECT_EQ(ours.value, ScratchValue("ours")) << "stays in the log";
  EXPECT_EQ(ours.by, "");
  const auto last = must(scratch_entry_from_json(entries.back().kind, entries.back().body.bytes()));
  EXPECT_EQ(last.value, ScratchValue("theirs"));
  EXPECT_EQ(last.by, "outside");
  EXPECT_EQ(taken(*session), "");
  EXPECT_EQ(commits(), before + 1) << "once";
}

TEST_P(ScratchTest, AnEditDuringATurnWinsAtItsEnd) {
  Session session = begin();
  must(session.set_scratch("plan", "one"));
  EXPECT_EQ(written(session), "");
  save(session.id(), "plan", "theirs");
  must(session.set_scratch("plan", "two"));
  EXPECT_EQ(written(session), "");
  EXPECT_EQ(read(session.id(), "plan"), "theirs");
  EXPECT_EQ(must(session.find_scratch("plan")), "theirs");
  const auto entries = pad_entries(session.id());
  ASSERT_EQ(entries.size(), 3U);
  EXPECT_EQ(must(scratch_entry_from_json("set", entries[1].body.bytes())).value,
            ScratchValue("two"));
}

TEST_P(ScratchTest, AFileThatTheLogKnowsDoesNotReplaceNewerNotes) {
  Session session = begin();
  for (const char* const text : {"one", "two", "three"}) must(session.set_scratch("plan", text));
  must(session.set_scratch("gone", "x"));
  must(session.erase_scratch("gone"));
  fs::create_directories(place(session.id()));
  fs::permissions(folder.path() / "notes", fs::perms::owner_all);
  fs::permissions(place(session.id()), fs::perms::owner_all);
  save(session.id(), "plan", "one");
  save(session.id(), "gone", "x");
  const std::size_t entries = pad_entries(session.id()).size();
  EXPECT_EQ(taken(session), "");
  EXPECT_EQ(must(session.find_scratch("plan")), "three");
  EXPECT_EQ(written(session), "");
  EXPECT_EQ(read(session.id(), "plan"), "three");
  EXPECT_FALSE(fs::exists(file(session.id(), "gone")));
  EXPECT_EQ(pad_entries(session.id()).size(), entries);
}

// It committed what was not renamed any more; some files it had written, others not.
TEST_P(ScratchTest, OfAProcessKilledBetweenTheCommitAndTheRenameIsNoEdit) {
  std::optional<Session> session = begin();
  const SessionId id = session->id();
  must(session->set_scratch("a", "one"));
  must(session->set_scratch("b", "one"));
  EXPECT_EQ(written(*session), "");
  must(session->set_scratch("a", "two"));
  must(session->set_scratch("b", "two"));
  save(id, "a", "two");
  std::ofstream(place(id) / ".b.txt.new") << "tw";
  session.reset();
  const std::size_t entries = pad_entries(id).size();

  runtime = start();
  session = must(runtime->open(id));
  EXPECT_EQ(taken(*session), "");

  EXPECT_EQ(pad_entries(id).size(), entries);
  EXPECT_EQ(must(session->find_scratch("b")), "two");
  EXPECT_EQ(written(*session), "");
  EXPECT_EQ(read(id, "b"), "two");
  EXPECT_FALSE(fs::exists(place(id) / ".b.txt.new"));
}

// The commit is gone, by a power cut or because an older store was restored: the file has the
// newer note.
TEST_P(ScratchTest, OfAProcessKilledBetweenTheRenameAndTheCommitIsKept) {
  std::optional<Session> session = begin();
  const SessionId id = session->id();
  must(session->set_scratch("plan", "one"));
  EXPECT_EQ(written(*session), "");
  session.reset();
  std::ofstream(place(id) / ".plan.txt.new") << "two";
  fs::rename(place(id) / ".plan.txt.new", file(id, "plan"));

  runtime = start();
  session = must(runtime->open(id));
  EXPECT_EQ(taken(*session), "");

  EXPECT_EQ(must(session->find_scratch("plan")), "two");
  const auto last = pad_entries(id).back();
  EXPECT_EQ(must(scratch_entry_from_json(last.kind, last.body.bytes())).by, "outside");
}

TEST_P(ScratchTest, AFileThatIsGoneIsWrittenAgain) {
  Session session = begin();
  must(session.set_scratch("plan", "one"));
  EXPECT_EQ(written(session), "");
  fs::remove(file(session.id(), "plan"));
  EXPECT_EQ(taken(session), "");
  EXPECT_EQ(must(session.find_scratch("plan")), "one");
  EXPECT_EQ(written(session), "");
  EXPECT_EQ(read(session.id(), "plan"), "one");
}

TEST_P(ScratchTest, FilesOfALineThatWasLeftAreNoEdits) {
  Session session = begin();
  must(session.set_scratch("plan", "one"));
  const Version first = must(session.checkpoint());
  must(session.set_scratch("plan", "two"));
  must(session.set_scratch("later", "x"));
  EXPECT_EQ(written(session), "");
  must(session.rewind(Point::version(first)));
  must(session.set_scratch("plan", "three"));
  must(session.rewind(Point::version(first)));
  EXPECT_EQ(taken(session), "");
  EXPECT_EQ(must(session.find_scratch("plan")), "one");
  EXPECT_EQ(written(session), "");
  EXPECT_EQ(read(session.id(), "plan"), "one");
  EXPECT_EQ(read(session.id(), "later"), "(none)");
}

TEST_P(ScratchTest, AForkHasAFolderOfItsOwn) {
  Session session = begin();
  must(session.set_scratch("plan", "one"));
  const Forked forked = must(runtime->fork(session.id(), Point::head()));
  must(session.set_scratch("plan", "two"));
  Resumed fork = must(runtime->resume(forked.id));
  EXPECT_EQ(written(session), "");
  EXPECT_EQ(written(fork.session), "");
  EXPECT_EQ(read(session.id(), "plan"), "two");
  EXPECT_EQ(read(forked.id, "plan"), "one");
}

TEST_P(ScratchTest, AnOutdatedOwnerWritesNoFile) {
  Session old = begin();
  must(old.set_scratch("plan", "one"));
  const auto other = start_on(*store, 8);
  clock.advance(std::chrono::minutes(1));
  must(other->renew());
  Session now = must(other->open(old.id()));
  must(now.set_scratch("plan", "two"));
  EXPECT_EQ(written(now), "");
  EXPECT_EQ(refused_as(write_scratch_folder(old, root())), ErrorCode::lease_lost);
  EXPECT_EQ(read(now.id(), "plan"), "two");
}

TEST_P(ScratchTest, AnIdThatIsAPathStaysWithinTheRoot) {
  const SessionId id = must(SessionId::parse("../../up"));
  Session session = must(runtime->create({.id = id}));
  must(session.set_scratch("plan", "one"));
  EXPECT_EQ(written(session), "");
  ASSERT_FALSE(fs::is_empty(folder.path() / "notes"));
  EXPECT_TRUE(fs::begin(fs::directory_iterator(folder.path() / "notes"))->is_directory());
}

TEST_P(ScratchTest, WhatIsNoNoteIsNamedAndLeftAlone) {
  Session session = begin();
  for (const char* const key : {"link", "bytes", "plan"}) must(session.set_scratch(key, "one"));
  EXPECT_EQ(written(session), "");
  std::ofstream(folder.file("secret")) << "secret";
  fs::remove(file(session.id(), "link"));
  fs::create_symlink(folder.file("secret"), file(session.id(), "link"));
  save(session.id(), "bytes", "\xff");
  for (const char* const key : {"link", "bytes", "plan"}) must(session.set_scratch(key, "two"));
  const std::string problem = written(session);
  EXPECT_TRUE(problem.find("link.txt is not a plain file") != std::string::npos ||
              problem.find("bytes.txt is not UTF-8") != std::string::npos)
      << problem;
  EXPECT_EQ(read(session.id(), "plan"), "two");
  EXPECT_EQ(read(session.id(), "bytes"), "\xff");
  EXPECT_TRUE(fs::is_symlink(file(session.id(), "link")));
  EXPECT_EQ(must(session.find_scratch("link")), "two");
}

TEST_P(ScratchTest, AFolderThatCannotBeHadIsNamed) {
  Session session = begin();
  must(session.set_scratch("plan", "one"));
  std::ofstream(folder.file("notes")) << "in the way";
  EXPECT_NE(taken(session), "");
  EXPECT_NE(written(session), "");
  EXPECT_EQ(must(session.find_scratch("plan")), "one");
}

INSTANTIATE_TEST_SUITE_P(EveryBackend, ScratchTest, testing::ValuesIn(every_backend()),
                         [](const auto& backend) { return backend.param.name; });

}  // namespace
}  // namespace perdure
