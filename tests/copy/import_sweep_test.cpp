// Who imports dies at its Nth write, N = 1 until it finishes. At every death all sessions are there
// or none; then the import is repeated, or another bundle with one of the sessions comes, and nothing
// of the dead one is in its way.

#include <filesystem>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <memory>
#include <string>

#include "copy/household.hpp"
#include "crash/child_process.hpp"
#include "crash/stored_file.hpp"
#include "doubles/counting_vfs.hpp"
#include "doubles/difference.hpp"
#include "doubles/fake_clock.hpp"
#include "doubles/must.hpp"
#include "doubles/temp_folder.hpp"
#include "perdure/store/store.hpp"
#include "store/api/bundle.hpp"
#include "store/sqlite/sqlite_store.hpp"

namespace perdure {
namespace {

class ImportSweep : public testing::TestWithParam<Moment> {
 protected:
  ImportSweep() {
    FakeClock clock;
    const auto store = must(open_store("memory:", {.clock = &clock}));
    furnish(*store, clock, Size::small);
    must(export_sessions(*store, folder.file("all")));
    must(export_sessions(*store, folder.file("one"),
                         {.sessions = {must(SessionId::parse("trimmed"))}}));
    const auto target = must(open_store("memory:", {.clock = &clock}));
    must(import_bundle(*target, folder.file("all")));
    whole = portrait(*target);
  }

  [[nodiscard]] bool is_killed(const TempFolder& own, std::uint64_t write) const {
    ChildProcess child("copy_importer",
                       {folder.file("all"), own.file("to.db"), std::string(to_string(GetParam())),
                        std::to_string(write)});
    std::string said;
    for (const std::string& line : child.read_to_end()) said += line + "\n";
    const Ending ending = child.wait();
    EXPECT_TRUE(ending.is_clean() || ending.was_killed()) << ending.text() << said;
    return ending.was_killed();
  }

  void check(const TempFolder& own, bool with_another) {
    {
      FakeClock clock;
      const std::string path = own.file("to.db");
      OpenOptions options;
      options.clock = &clock;
      const auto store = must(sqlite::open_sqlite(
          {.location = path, .path = path, .open = options, .vfs = vfs.name()}));
      if (must(store->sessions().list({})).sessions.empty()) {
        ++unfinished;
        if (with_another) {
          must(import_bundle(*store, folder.file("one")));
          EXPECT_EQ(must(store->sessions().list({})).sessions.size(), 1U);
          must(store->upkeep().remove(must(SessionId::parse("trimmed"))));
        }
        must(import_bundle(*store, folder.file("all")));
      }
      EXPECT_EQ(difference(whole, portrait(*store)), "");
      EXPECT_TRUE(must(store->upkeep().check()).is_sound());
    }
    EXPECT_EQ(find_damage(own.file("to.db")), "");
  }

  const TempFolder folder = TempFolder::in_memory();
  CountingVfs vfs{"check importing"};
  std::string whole;
  int unfinished = 0;
};

TEST_P(ImportSweep, EveryDeathLeavesAllOfItOrNothing) {
  vfs.skip_syncs();
  int deaths = 0;
  bool killed = true;
  for (std::uint64_t write = 1; killed && !HasFailure(); ++write) {
    SCOPED_TRACE(fmt::format("killed {} write {}", to_string(GetParam()), write));
    const TempFolder own = TempFolder::in_memory();
    killed = is_killed(own, write);
    deaths += killed ? 1 : 0;
    check(own, write % 2 == 0);
  }
  RecordProperty("deaths", deaths);
  EXPECT_GT(deaths, 30);
  EXPECT_GT(unfinished, 20);
}

INSTANTIATE_TEST_SUITE_P(Every, ImportSweep, testing::Values(Moment::before, Moment::during),
                         [](const testing::TestParamInfo<Moment>& tested) {
                           return std::string(to_string(tested.param));
                         });

}  // namespace
}  // namespace perdure
