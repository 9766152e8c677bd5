// Who prunes, erases, removes, collects and vacuums dies at its Nth store write. What is
// kept reads as before all the time, and doing it again does the rest.

#include <filesystem>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <ostream>

#include "contract/backends.hpp"
#include "contract/describe.hpp"
#include "crash/child_process.hpp"
#include "crash/forgetting.hpp"
#include "crash/scale.hpp"
#include "crash/stored_file.hpp"
#include "doubles/counting_vfs.hpp"
#include "doubles/postgres_cluster.hpp"
#include "perdure/store/store.hpp"
#include "store/sqlite/engine/connection.hpp"
#include "store/sqlite/sqlite_store.hpp"

namespace perdure {
namespace {

// Nothing here is about syncs.
std::unique_ptr<Store> open_at(const std::string& location, FakeClock& clock,
                               const std::string& vfs) {
  OpenOptions options{.durability = Durability::process, .clock = &clock};
  const auto path = file_of(location);
  if (!path) return open_store(location, options).value();
  options.durability = Durability::full;
  return sqlite::open_sqlite({.path = *path, .open = options, .vfs = vfs}).value();
}

std::int64_t count(const std::string& path, const std::string& statement) {
  std::atomic<std::uint64_t> rows_read = 0;
  sqlite::Connection db(path, "", SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, &rows_read);
  sqlite::Rows rows = db.query(statement);
  return rows.next() ? rows.integer(0) : -1;
}

struct ForgetPart {
  Backend backend;
  Moment moment = Moment::before;
  std::uint64_t first = 1;

  [[nodiscard]] bool is_file() const { return backend.home == Home::file; }
};

void PrintTo(const ForgetPart& part, std::ostream* out) {
  *out << part.backend.name << '_' << to_string(part.moment) << '_' << part.first;
}

std::vector<ForgetPart> every_part() {
  std::vector<ForgetPart> all;
  for (const Backend& backend : surviving_backends()) {
    for (const Moment moment : {Moment::before, Moment::during}) {
      for (const std::uint64_t first : {1U, 2U}) all.push_back({backend, moment, first});
    }
  }
  return all;
}

class ForgetSweep : public testing::TestWithParam<ForgetPart> {
 protected:
  /// A server cannot copy a filled store as a file is copied, and takes longer for each.
  static std::uint64_t stride() { return GetParam().is_file() ? 2 : 8; }

  ForgetSweep() {
    vfs.skip_syncs();
    lasting_text = fill_at(original.location());
    FakeClock clock;
    const auto reference = open_store("memory:", {.clock = &clock}).value();
    fill(*reference, clock);
    EXPECT_EQ(lasting(*reference), lasting_text);
    EXPECT_TRUE(forget_all(*reference, clock, [](const std::string&) {}));
    EXPECT_EQ(lasting(*reference), lasting_text);
    final_text = all(*reference);
  }

  /// What is to last of it.
  [[nodiscard]] std::string fill_at(const std::string& location) const {
    FakeClock clock;
    const auto store = open_at(location, clock, vfs.name());
    fill(*store, clock);
    return lasting(*store);
  }

  static std::string all(Store& store) {
    std::string text;
    for (const char* name : {"main", "last"}) {
      const auto session = *SessionId::parse(name);
      auto entries = store.log().read(session, {}).value();
      for (Entry& entry : entries) entry.segment = 0;  // Each store has numbers of its own.
      text += describe(entries) + "\n";
      text += describe(store.log().checkpoints(session, {})) + "\n";
    }
    return text + describe(store.ledger().list({}));
  }

  /// False if the child came to its end.
  [[nodiscard]] static bool is_killed(const StorePlace& home, const ForgetPart& part,
                                      std::uint64_t write) {
    ChildProcess child("crash_forgetter", {home.location(), std::string(to_string(part.moment)),
                                           std::to_string(write)});
    std::string said;
    for (const std::string& line : child.read_to_end()) said += line + "\n";
    const Ending ending = child.wait();
    home.settle();
    EXPECT_TRUE(ending.is_clean() || ending.was_killed()) << ending.text() << said;
    return ending.was_killed();
  }

  void check(const StorePlace& home) const {
    FakeClock clock;
    {
      const auto store = open_at(home.location(), clock, vfs.name());
      EXPECT_EQ(lasting(*store), lasting_text);
      clock.advance(std::chrono::hours(1));
      const auto again = forget_all(*store, clock, [](const std::string&) {});
      EXPECT_TRUE(again) << again.error().message;
      EXPECT_EQ(lasting(*store), lasting_text);
      EXPECT_EQ(all(*store), final_text);
    }
    if (GetParam().is_file()) {
      check_file(home.file());
    } else {
      EXPECT_EQ(cluster().one("SELECT count(*) FROM " + home.schema().name() + ".garbage"), "0");
      EXPECT_EQ(find_damage(home.location()), "");
    }
  }

  static void check_file(const std::string& path) {
    EXPECT_EQ(count(path, "SELECT count(*) FROM garbage"), 0);
    EXPECT_EQ(count(path, "PRAGMA freelist_count"), 0);
    EXPECT_EQ(
        count(path, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'"),
        0);
  }

  StorePlace original{GetParam().backend};
  CountingVfs vfs{"check forgetting"};
  std::string lasting_text;
  std::string final_text;
};

TEST_P(ForgetSweep, NoDeathWhileForgettingTakesMoreThanItShould) {
  int deaths = 0;
  bool killed = true;
  for (std::uint64_t write = GetParam().first; killed && !HasFailure(); write += stride()) {
    SCOPED_TRACE(fmt::format("killed {} write {}", to_string(GetParam().moment), write));
    const StorePlace home(GetParam().backend);
    if (GetParam().is_file()) {
      std::filesystem::copy_file(original.file(), home.file());
    } else {
      EXPECT_EQ(fill_at(home.location()), lasting_text);
    }
    killed = is_killed(home, GetParam(), write);
    deaths += killed ? 1 : 0;
    check(home);
  }
  tell("crash while forgetting", deaths);
  EXPECT_GT(deaths, GetParam().is_file() ? 40 : 2);
}

INSTANTIATE_TEST_SUITE_P(Every, ForgetSweep, testing::ValuesIn(every_part()),
                         [](const testing::TestParamInfo<ForgetPart>& tested) {
                           return testing::PrintToString(tested.param);
                         });

}  // namespace
}  // namespace perdure
