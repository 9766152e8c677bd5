// Who prunes, erases, removes, collects and vacuums dies at its Nth store write. What is
// kept reads as before all the time, and doing it again does the rest.

#include <filesystem>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <ostream>

#include "contract/describe.hpp"
#include "crash/child_process.hpp"
#include "crash/forgetting.hpp"
#include "crash/scale.hpp"
#include "crash/stored_file.hpp"
#include "doubles/counting_vfs.hpp"
#include "doubles/temp_folder.hpp"
#include "perdure/store/open.hpp"
#include "store/sqlite/connection.hpp"
#include "store/sqlite/sqlite_store.hpp"

namespace perdure {
namespace {

std::unique_ptr<Store> open_at(const std::string& path, FakeClock& clock, const std::string& vfs) {
  OpenOptions options;
  options.clock = &clock;
  return std::move(sqlite::open_sqlite({.path = path, .open = options, .vfs = vfs})).value();
}

std::int64_t count(const std::string& path, const std::string& statement) {
  std::atomic<std::uint64_t> rows_read = 0;
  sqlite::Connection db(path, "", SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, &rows_read);
  sqlite::Rows rows = db.query(statement);
  return rows.next() ? rows.integer(0) : -1;
}

struct Part {
  Moment moment = Moment::before;
  std::uint64_t first = 1;
};

void PrintTo(const Part& part, std::ostream* out) {
  *out << to_string(part.moment) << '_' << part.first;
}

class ForgetSweep : public testing::TestWithParam<Part> {
 protected:
  static constexpr std::uint64_t stride = 2;

  ForgetSweep() {
    vfs.skip_syncs();
    {
      FakeClock clock;
      const auto store = open_at(original(), clock, vfs.name());
      fill(*store, clock);
      lasting_text = lasting(*store);
    }
    FakeClock clock;
    const auto reference = open_store("memory:", {.clock = &clock}).value();
    fill(*reference, clock);
    EXPECT_EQ(lasting(*reference), lasting_text);
    EXPECT_TRUE(forget_all(*reference, clock, [](const std::string&) {}));
    EXPECT_EQ(lasting(*reference), lasting_text);
    final_text = all(*reference);
  }

  [[nodiscard]] std::string original() const { return folder.file("original.db"); }

  static std::string all(Store& store) {
    std::string text;
    for (const char* name : {"main", "last"}) {
      const auto session = *SessionId::parse(name);
      text += describe(store.log().read(session, {})) + "\n";
      text += describe(store.log().checkpoints(session, {})) + "\n";
    }
    return text + describe(store.ledger().list({}));
  }

  /// False if the child came to its end.
  [[nodiscard]] static bool is_killed(const std::string& path, const Part& part,
                                      std::uint64_t write) {
    ChildProcess child("crash_forgetter",
                       {path, std::string(to_string(part.moment)), std::to_string(write)});
    std::string said;
    for (const std::string& line : child.read_to_end()) said += line + "\n";
    const Ending ending = child.wait();
    EXPECT_TRUE(ending.is_clean() || ending.was_killed()) << ending.text() << said;
    return ending.was_killed();
  }

  void check(const std::string& path) const {
    FakeClock clock;
    {
      const auto store = open_at(path, clock, vfs.name());
      EXPECT_EQ(lasting(*store), lasting_text);
      clock.advance(std::chrono::hours(1));
      const auto again = forget_all(*store, clock, [](const std::string&) {});
      EXPECT_TRUE(again) << again.error().message;
      EXPECT_EQ(lasting(*store), lasting_text);
      EXPECT_EQ(all(*store), final_text);
    }
    EXPECT_EQ(count(path, "SELECT count(*) FROM garbage"), 0);
    EXPECT_EQ(count(path, "PRAGMA freelist_count"), 0);
    EXPECT_EQ(
        count(path, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'"),
        0);
  }

  TempFolder folder;
  CountingVfs vfs{"check forgetting"};
  std::string lasting_text;
  std::string final_text;
};

TEST_P(ForgetSweep, NoDeathWhileForgettingTakesMoreThanItShould) {
  int deaths = 0;
  bool killed = true;
  for (std::uint64_t write = GetParam().first; killed && !HasFailure(); write += stride) {
    SCOPED_TRACE(fmt::format("killed {} write {}", to_string(GetParam().moment), write));
    const TempFolder own;
    const std::string path = own.file("store.db");
    std::filesystem::copy_file(original(), path);
    killed = is_killed(path, GetParam(), write);
    deaths += killed ? 1 : 0;
    check(path);
  }
  tell("crash while forgetting", deaths);
  EXPECT_GT(deaths, 40);
}

INSTANTIATE_TEST_SUITE_P(Every, ForgetSweep,
                         testing::Values(Part{Moment::before, 1}, Part{Moment::before, 2},
                                         Part{Moment::during, 1}, Part{Moment::during, 2}),
                         [](const testing::TestParamInfo<Part>& tested) {
                           return testing::PrintToString(tested.param);
                         });

}  // namespace
}  // namespace perdure
