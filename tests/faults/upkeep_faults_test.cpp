// The Nth call to the files fails while a store is looked after: prune, forget, erase, remove,
// collect, vacuum, backup, salvage. What is kept reads as before, doing it again does the
// rest, and no copy has its name before it is whole.

#include <filesystem>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <iostream>
#include <optional>
#include <ostream>

#include "contract/describe.hpp"
#include "crash/forgetting.hpp"
#include "crash/scale.hpp"
#include "doubles/fault_vfs.hpp"
#include "doubles/part_files.hpp"
#include "doubles/temp_folder.hpp"
#include "perdure/store/upkeep.hpp"
#include "store/sqlite/sqlite_store.hpp"

namespace perdure {
namespace {

struct UpkeepCase {
  IoFault fault = IoFault::error;
  Lasting lasting = Lasting::once;
};

std::string text_of(const UpkeepCase& that) {
  return fmt::format("{}_{}", to_string(that.fault),
                     that.lasting == Lasting::once ? "once" : "for_ever");
}

void PrintTo(const UpkeepCase& that, std::ostream* out) { *out << text_of(that); }

/// While it exists, whatever names no VFS meets the faults too: copies and salvaged files.
class AsDefault {
 public:
  explicit AsDefault(const std::string& name) : before_(sqlite3_vfs_find(nullptr)) {
    sqlite3_vfs_register(sqlite3_vfs_find(name.c_str()), 1);
  }
  ~AsDefault() { sqlite3_vfs_register(before_, 1); }
  AsDefault(const AsDefault&) = delete;
  AsDefault& operator=(const AsDefault&) = delete;

 private:
  sqlite3_vfs* before_;
};

class UpkeepFaults : public testing::TestWithParam<UpkeepCase> {
 protected:
  static constexpr std::uint64_t never = 1'000'000'000;
  static constexpr std::uint64_t points_of_a_short_run = 12;

  UpkeepFaults() {
    FakeClock clock;
    const auto store = open(original(), clock, {}).value();
    fill(*store, clock);
    lasting_text = lasting(*store);
  }

  [[nodiscard]] std::string original() const { return folder.file("original.db"); }

  static Result<std::unique_ptr<Store>> open(const std::string& path, FakeClock& clock,
                                             const std::string& vfs) {
    OpenOptions options;
    options.clock = &clock;
    return sqlite::open_sqlite({.path = path, .open = options, .vfs = vfs});
  }

  /// Works on a new copy of the store; its first error.
  using Work = std::function<Result<void>(const std::string& path)>;

  Result<void> run(const Work& work, const std::string& path, std::uint64_t number) {
    std::filesystem::copy_file(original(), path);
    // SQLite takes half of a page for the end of the file, and the rest of it for zeros.
    if (GetParam().fault == IoFault::part && !reads_in_part) vfs.only("write");
    vfs.fail_at(number, GetParam().fault, GetParam().lasting);
    const AsDefault all(vfs.name());
    auto done = work(path);
    failed = vfs.failed();
    calls = vfs.calls();
    vfs.heal();
    return done;
  }

  /// Sweeps over the calls that `work` makes; `check` looks at what it left.
  void sweep(const std::string& name, const Work& work,
             const std::function<void(const std::string& path)>& check) {
    {
      const TempFolder own = TempFolder::in_memory();
      const auto clean = run(work, own.file("store.db"), never);
      ASSERT_TRUE(clean) << clean.error().message;
    }
    const std::uint64_t stride =
        scale().full ? 1 : std::max<std::uint64_t>(1, calls / points_of_a_short_run);
    int points = 0;
    const std::uint64_t all = calls;
    for (std::uint64_t number = 1 + scale().seed % stride; number <= all && !HasFailure();
         number += stride) {
      SCOPED_TRACE(fmt::format("{} call {} of {}", text_of(GetParam()), number, all));
      const TempFolder own = TempFolder::in_memory();
      const auto done = run(work, own.file("store.db"), number);
      SCOPED_TRACE(failed);
      const bool is_noticed = reads_in_part && !done && done.error().code == ErrorCode::corrupted;
      if (!done && !is_noticed) expect_of_the_world(done.error());
      points += failed.empty() ? 0 : 1;
      check(own.file("store.db"));
    }
    std::cout << fmt::format("{}, {}: {} fault points of {} calls, seed {}\n", name,
                             text_of(GetParam()), points, all, scale().seed);
    EXPECT_GT(points, 5);
  }

  static void expect_of_the_world(const Error& error) {
    EXPECT_TRUE(error.code == ErrorCode::unavailable || error.code == ErrorCode::closed ||
                error.code == ErrorCode::commit_unknown)
        << to_string(error.code) << ": " << error.message;
  }

  /// It is a sound store that tells what it told; as a copy, but for its marks.
  void expect_whole(const std::string& path) const {
    FakeClock clock;
    const auto store = open(path, clock, {});
    ASSERT_TRUE(store) << store.error().message;
    EXPECT_EQ(lasting(**store), lasting_text);
    const auto report = (*store)->upkeep().check();
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_TRUE(report->is_sound()) << report->damage.front().what;
  }

  void expect_whole_or_nothing(const std::string& copy) const {
    if (std::filesystem::exists(copy)) expect_whole(copy);
    EXPECT_FALSE(has_parts(copy));
  }

  TempFolder folder;
  FaultVfs vfs{"upkeep faults"};
  std::string lasting_text;
  std::string failed;
  std::uint64_t calls = 0;
  bool reads_in_part = false;  ///< Not only writes; then the work may find the store corrupted.
};

TEST_P(UpkeepFaults, WhileForgettingTakeNothingElse) {
  const auto forget = [&](const std::string& path) -> Result<void> {
    FakeClock clock;
    auto store = open(path, clock, vfs.name());
    if (!store) return forward(store);
    clock.advance(std::chrono::hours(1));
    try {
      return forget_all(**store, clock, [](const std::string&) {});
    } catch (const std::runtime_error& error) {
      return fail(ErrorCode::unavailable, error.what());  // A read of the script's own.
    }
  };
  sweep("forgetting", forget, [&](const std::string& path) {
    expect_whole(path);
    const auto again = forget(path);
    EXPECT_TRUE(again) << again.error().message;
    expect_whole(path);
  });
}

TEST_P(UpkeepFaults, OfABackupLeaveAWholeOneOrNone) {
  const auto back_up = [&](const std::string& path) -> Result<void> {
    FakeClock clock;
    auto store = open(path, clock, vfs.name());
    if (!store) return forward(store);
    return (*store)->upkeep().backup(path + ".copy");
  };
  reads_in_part = true;
  sweep("backup", back_up, [&](const std::string& path) {
    expect_whole(path);
    expect_whole_or_nothing(path + ".copy");
  });
}

TEST_P(UpkeepFaults, OfASalvageLeaveAWholeOneOrNone) {
  const auto save = [](const std::string& path) -> Result<void> {
    auto salvaged = salvage_store(path, path + ".copy");
    if (!salvaged) return forward(salvaged);
    EXPECT_EQ(salvaged->entries_lost, 0U);
    return {};
  };
  sweep("salvage", save, [&](const std::string& path) {
    expect_whole(path);
    expect_whole_or_nothing(path + ".copy");
  });
}

INSTANTIATE_TEST_SUITE_P(Every, UpkeepFaults,
                         testing::Values(UpkeepCase{IoFault::error, Lasting::once},
                                         UpkeepCase{IoFault::error, Lasting::for_ever},
                                         UpkeepCase{IoFault::full, Lasting::once},
                                         UpkeepCase{IoFault::full, Lasting::for_ever},
                                         UpkeepCase{IoFault::part, Lasting::once},
                                         UpkeepCase{IoFault::part, Lasting::for_ever}),
                         [](const testing::TestParamInfo<UpkeepCase>& tested) {
                           return text_of(tested.param);
                         });

}  // namespace
}  // namespace perdure
