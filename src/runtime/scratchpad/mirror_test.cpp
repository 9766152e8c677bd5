// The mirror and its folder: what is taken for a change from outside, wherever a process died.

#include "scratchpad/mirror.hpp"

#include <cstddef>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/runtime/scratchpad.hpp"
#include "scratchpad/fake_folder.hpp"
#include "scratchpad/folder.hpp"
#include "scratchpad/mirror_state.hpp"

namespace perdure::scratch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Why = ScratchProblem::Why;

class MirrorTest : public testing::Test {
 protected:
  /// The mirror of a process that just started.
  Mirror mirror(std::string session = "ses") {
    return {"store", std::move(session), [this]() -> Result<std::unique_ptr<Folder>> {
              return std::make_unique<FakeFolder>(disk);
            }};
  }
  Truth truth() {
    return {.pad = pad,
            .load = [](const BlobRef&) -> Result<std::string> {
              return fail(ErrorCode::not_found, "no blobs here");
            },
            .ever_had = [this](const std::string& key, const Digest& content) -> Result<bool> {
              return had[key].contains(content);
            }};
  }
  void set(const std::string& key, const std::string& text) {
    pad.values[key] = text;
    had[key].insert(sha256(text));
  }
  void erase(const std::string& key) { pad.values.erase(key); }
  /// What a session does with the edits it finds: they are the log's from now on.
  std::vector<Edit> take_in(Mirror& into) {
    auto edits = into.look(truth());
    for (const Edit& edit : edits) {
      if (edit.text) set(edit.key, *edit.text);
      if (!edit.text) erase(edit.key);
    }
    into.write(truth());
    return edits;
  }
  /// Another process mirrors, and may make so many changes before it dies.
  void mirror_until(int changes) {
    disk.changes_left = changes;
    auto dying = mirror();
    dying.write(truth());
    disk.changes_left = std::numeric_limits<int>::max();
  }
  [[nodiscard]] std::map<std::string, std::string> texts_of_pad() const {
    std::map<std::string, std::string> all;
    for (const auto& [key, value] : pad.values) all[key + ".txt"] = std::get<std::string>(value);
    return all;
  }
  void begin() {
    set("a", "a1");
    set("b", "b1");
    mirror_until(100);
  }

  Scratchpad pad;
  std::map<std::string, std::set<Digest>> had;
  FakeDisk disk;
};

// Enough for every change that one mirroring makes.
constexpr int steps_max = 8;

TEST_F(MirrorTest, FollowsTheLog) {
  begin();
  EXPECT_EQ(disk.texts(), texts_of_pad());
  set("a", "a2");
  erase("b");
  set("c", "c1");
  mirror_until(100);
  EXPECT_EQ(disk.texts(), texts_of_pad());
}

TEST_F(MirrorTest, OfAProcessThatDiedAnywhereIsNoChangeFromOutside) {
  begin();
  const FakeDisk before = disk;
  set("a", "a2");
  erase("b");
  set("c", "c1");
  for (int step = 0; step <= steps_max; ++step) {
    disk = before;
    mirror_until(step);
    auto next = mirror();
    EXPECT_THAT(next.look(truth()), IsEmpty()) << step;
    next.write(truth());
    EXPECT_EQ(disk.texts(), texts_of_pad()) << step;
  }
}

TEST_F(MirrorTest, OfTwoProcessesThatDiedAnywhereIsNoChangeFromOutside) {
  begin();
  const FakeDisk before = disk;
  for (int first = 0; first <= steps_max; ++first) {
    for (int second = 0; second <= steps_max; ++second) {
      disk = before;
      set("a", "a2");
      set("c", "c1");
      set("b", "b1");
      mirror_until(first);
      set("a", "a3");
      erase("b");
      erase("c");
      mirror_until(second);
      auto next = mirror();
      EXPECT_THAT(next.look(truth()), IsEmpty()) << first << " " << second;
      next.write(truth());
      EXPECT_EQ(disk.texts(), texts_of_pad()) << first << " " << second;
    }
  }
}

TEST_F(MirrorTest, AnEditAfterADeathAnywhereIsTakenInAndNothingElse) {
  begin();
  const FakeDisk before = disk;
  for (int step = 0; step <= steps_max; ++step) {
    disk = before;
    pad = {};
    set("a", "a2");
    set("c", "c1");
    mirror_until(step);
    disk.save("a.txt", "mine");
    auto next = mirror();
    EXPECT_THAT(take_in(next), ElementsAre(Edit{"a", "mine"})) << step;
    EXPECT_EQ(disk.texts(), texts_of_pad()) << step;
  }
}

TEST_F(MirrorTest, AFileThatComesBackIsNotTakenForRemovedAfterADeath) {
  begin();
  disk.files.erase("a.txt");
  set("a", "a2");
  const FakeDisk before = disk;
  for (int step = 0; step <= steps_max; ++step) {
    disk = before;
    mirror_until(step);
    auto next = mirror();
    EXPECT_THAT(take_in(next), IsEmpty()) << step;
    EXPECT_EQ(disk.texts(), texts_of_pad()) << step;
  }
}

TEST_F(MirrorTest, FindsChangedNewAndRemovedFiles) {
  begin();
  disk.save("a.txt", "mine");
  disk.files.erase("b.txt");
  disk.save("c.txt", "new");
  auto next = mirror();
  EXPECT_THAT(take_in(next),
              ElementsAre(Edit{"a", "mine"}, Edit{"b", std::nullopt}, Edit{"c", "new"}));
  EXPECT_THAT(next.look(truth()), IsEmpty());
  EXPECT_THAT(mirror().look(truth()), IsEmpty());
}

TEST_F(MirrorTest, FindsAnEditAgainUntilItIsCommitted) {
  begin();
  disk.save("a.txt", "mine");
  auto next = mirror();
  EXPECT_THAT(next.look(truth()), ElementsAre(Edit{"a", "mine"}));
  next.write(truth());
  EXPECT_THAT(next.look(truth()), ElementsAre(Edit{"a", "mine"}));
  EXPECT_THAT(mirror().look(truth()), ElementsAre(Edit{"a", "mine"}));
}

TEST_F(MirrorTest, FindsAFileThatIsPutBackToWhatItWas) {
  begin();
  set("a", "a2");
  mirror_until(100);
  disk.save("a.txt", "a1");
  EXPECT_THAT(mirror().look(truth()), ElementsAre(Edit{"a", "a1"}));
}

TEST_F(MirrorTest, DoesNotWriteOverAnEditThatWasNotTakenIn) {
  begin();
  auto open = mirror();
  open.write(truth());
  disk.save("a.txt", "mine");
  set("a", "ours");
  open.touch("a");
  open.write(truth());
  EXPECT_EQ(disk.files["a.txt"].bytes, "mine");
  EXPECT_THAT(take_in(open), ElementsAre(Edit{"a", "mine"}));
}

TEST_F(MirrorTest, WithoutItsNoteTakesOnlyWhatTheLogNeverHeldForAnEdit) {
  begin();
  set("a", "a2");
  disk.files.erase(".mirror.json");
  disk.files.erase("b.txt");
  disk.save("c.txt", "new");
  auto next = mirror();
  EXPECT_THAT(take_in(next), ElementsAre(Edit{"c", "new"}));
  EXPECT_EQ(disk.texts(), texts_of_pad());
}

TEST_F(MirrorTest, WithADamagedNoteGoesOnAsWithoutOne) {
  begin();
  set("a", "a2");
  disk.save(".mirror.json", R"({"store":"store","session":"ses","left":{"a":["x"]}})");
  auto next = mirror();
  EXPECT_THAT(take_in(next), IsEmpty());
  EXPECT_EQ(disk.texts(), texts_of_pad());
}

TEST_F(MirrorTest, LeavesTheFolderOfAnotherSessionAlone) {
  begin();
  const auto before = disk.texts();
  pad = {};
  set("a", "other");
  auto other = mirror("other");
  EXPECT_THAT(other.look(truth()), IsEmpty());
  other.write(truth());
  EXPECT_EQ(disk.texts(), before);
  ASSERT_FALSE(other.problems().empty());
  EXPECT_EQ(other.problems().front().why, Why::foreign);
}

TEST_F(MirrorTest, NamesWhatItDoesNotTakeInAndLeavesItThere) {
  begin();
  disk.save("no key.txt", "x");
  disk.save("a.txt~", "x");
  disk.save("b.txt", "\xff");
  disk.save("d.txt", std::string(scratch_value_bytes_max + 1, 'x'));
  disk.save("e.txt", "x");
  disk.odd.insert("e.txt");
  disk.save("f.txt", "x");
  disk.unreadable.insert("f.txt");
  const auto before = disk.texts();
  auto next = mirror();
  EXPECT_THAT(take_in(next), IsEmpty());
  std::map<std::string, Why> problems;
  for (const ScratchProblem& problem : next.problems()) problems[problem.name] = problem.why;
  EXPECT_EQ(problems, (std::map<std::string, Why>{{"no key.txt", Why::not_a_key},
                                                  {"a.txt~", Why::not_a_key},
                                                  {"b.txt", Why::not_text},
                                                  {"d.txt", Why::too_large},
                                                  {"e.txt", Why::not_a_file},
                                                  {"f.txt", Why::unreadable}}));
  set("e", "ours");
  next.touch("e");
  next.write(truth());
  EXPECT_EQ(disk.texts(), before);
}

TEST_F(MirrorTest, ThatCannotWriteSaysSoAndTriesAgain) {
  begin();
  auto open = mirror();
  set("a", "a2");
  open.touch("a");
  disk.changes_left = 1;
  open.write(truth());
  ASSERT_FALSE(open.problems().empty());
  EXPECT_EQ(open.problems().front().why, Why::failed);
  disk.changes_left = 100;
  open.write(truth());
  EXPECT_THAT(open.problems(), IsEmpty());
  EXPECT_EQ(disk.texts(), texts_of_pad());
}

TEST_F(MirrorTest, ReadsAFileOnceUntilItChanges) {
  begin();
  auto open = mirror();
  static_cast<void>(open.look(truth()));
  disk.reads = 0;
  static_cast<void>(open.look(truth()));
  EXPECT_EQ(disk.reads, 0);
  disk.save("a.txt", "xx");
  EXPECT_THAT(open.look(truth()), ElementsAre(Edit{"a", "xx"}));
}

TEST_F(MirrorTest, ReadsAFileAgainThatMayChangeWithinOneTick) {
  begin();
  auto open = mirror();
  disk.save("a.txt", "xx");
  disk.moves = false;
  EXPECT_THAT(take_in(open), ElementsAre(Edit{"a", "xx"}));
  disk.save("a.txt", "yy");
  EXPECT_THAT(open.look(truth()), ElementsAre(Edit{"a", "yy"}));
}

TEST_F(MirrorTest, WritesNothingWhenNothingChanged) {
  begin();
  disk.changes_left = 0;
  auto next = mirror();
  EXPECT_THAT(take_in(next), IsEmpty());
  EXPECT_THAT(next.problems(), IsEmpty());
}

TEST(MirrorState, ComesBackFromItsText) {
  MirrorState state{.store = "inc", .session = "a \"b\""};
  state.left["k"] = {sha256("1"), std::nullopt};
  EXPECT_EQ(mirror_state_from_json(to_json(state)), state);
  for (const char* const text : {"", "[]", "{}", R"({"store":1,"session":"s","left":{}})",
                                 R"({"store":"i","session":"s","left":{"k":[1]}})",
                                 R"({"store":"i","session":"s","left":{"k":{}}})"}) {
    EXPECT_EQ(mirror_state_from_json(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace perdure::scratch
