// Three processes play many sessions on one PostgreSQL server. They are killed, and stopped past
// their lease and woken again; others take their sessions over. No effect happens twice, nothing that
// was paid for and committed is bought again.

#include "herd/herd.hpp"

#include <cstddef>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iostream>
#include <random>
#include <string>
#include <sys/types.h>
#include <vector>

#include "crash/scale.hpp"
#include "doubles/must.hpp"
#include "doubles/postgres_cluster.hpp"
#include "doubles/postgres_wait.hpp"
#include "perdure/store/store.hpp"

namespace perdure::herd {
namespace {

/// The sessions that a process had when it was struck, and what became of them.
class Struck {
 public:
  explicit Struck(const PostgresSchema& schema) : schema_(schema) {
    sql_.execute("CREATE TEMP TABLE had (pid bigint, num bigint, fence bigint)");
  }

  /// Whether it had any.
  bool note(pid_t process) {
    sql_.execute(
        fmt::format("DELETE FROM had WHERE pid = {1}; INSERT INTO had SELECT w.pid, s.num, s.fence "
                    "FROM {0}.session s JOIN "
                    "{0}.worker w ON w.num = s.owner WHERE w.pid = {1}",
                    schema_.name(), process));
    return sql_.one(fmt::format("SELECT count(*) FROM had WHERE pid = {}", process)) != "0";
  }
  /// Of what that process had: so many have another owner, or had one. A process that was killed
  /// gives nothing back, and one that is stopped does not until it goes on.
  [[nodiscard]] int taken_from(pid_t process) {
    return std::stoi(
        sql_.one(fmt::format("SELECT count(*) FROM had JOIN {}.session s USING (num) "
                             "WHERE had.pid = {} AND s.fence > had.fence",
                             schema_.name(), process)));
  }

 private:
  const PostgresSchema& schema_;
  PostgresSql sql_{cluster().address()};
};

/// What was done to the processes, in turns, and how many of their sessions others took over.
struct Blows {
  int kills = 0;
  int stops = 0;
  int taken_from_killed = 0;
  int taken_from_stopped = 0;
};

struct Size {
  int sessions;
  int blows;
  int lines_between;  ///< At most: of all that the processes say between two blows.
};

class HerdTest : public testing::Test {
 protected:
  void play(const std::string& options, const Size& size) {
    std::cout << "seed " << scale().seed << " (--seed=N repeats its choices)\n";
    (void)must(open_store(schema.location(options)));
    Herd herd(schema.location(options), size.sessions, 3);
    std::vector<pid_t> killed;
    for (int blow = 0; blow < size.blows; ++blow) {
      if (!herd.hear(1 + static_cast<int>(chance() % static_cast<unsigned>(size.lines_between)))) {
        break;
      }
      const std::size_t which = chance() % herd.processes();
      if (blow % 2 == 1) {
        stop_past_its_lease(herd, which);
        continue;
      }
      killed.push_back(herd.pid(which));
      hear_until_it_has_some(herd, which);
      herd.kill(which);
      (void)struck.note(killed.back());
      herd.start(which);
    }
    EXPECT_THAT(herd.finish(), testing::IsEmpty());
    blows.kills = static_cast<int>(killed.size());
    for (const pid_t process : killed) blows.taken_from_killed += struck.taken_from(process);
    tell("herd", blows.kills + blows.stops);
  }

  Blows blows;

 private:
  // One that was just started has none yet, and nobody could take anything from it.
  void hear_until_it_has_some(Herd& herd, std::size_t which) {
    while (!struck.note(herd.pid(which)) && herd.hear(1)) {
    }
  }

  void stop_past_its_lease(Herd& herd, std::size_t which) {
    const pid_t process = herd.pid(which);
    hear_until_it_has_some(herd, which);
    herd.stop(which);
    const bool had_some = struck.note(process);
    // By the server's clock.
    wait_for_answer(cluster().address(),
                    fmt::format("SELECT count(*) FROM {}.worker WHERE pid = {} AND until > "
                                "extract(epoch FROM clock_timestamp()) * 1000",
                                schema.name(), process),
                    "0");
    (void)herd.hear(10);
    // Those who go on come to its sessions in their own time.
    while (had_some && struck.taken_from(process) == 0 && herd.hear(10)) {
    }
    blows.taken_from_stopped += struck.taken_from(process);
    ++blows.stops;
    herd.go_on(which);
  }

  std::mt19937_64 chance{scale().seed};
  const PostgresSchema schema;
  Struck struck{schema};
};

TEST_F(HerdTest, IsTakenOverByOthersWhenItsOwnersAreKilledOrStopped) {
  const int rounds = scale().rounds.value_or(6);
  play("", {.sessions = 50, .blows = rounds, .lines_between = 12});

  EXPECT_GE(blows.kills, 2);
  EXPECT_GE(blows.stops, 2);
  EXPECT_GT(blows.taken_from_killed, 0);
  EXPECT_GT(blows.taken_from_stopped, 0);
}

// Nobody is woken, everybody looks for themselves.
TEST_F(HerdTest, IsTakenOverWithoutAWordOfTheServerToo) {
  play("partitions=4&notify=off", {.sessions = 12, .blows = 2, .lines_between = 12});

  EXPECT_EQ(blows.kills, 1);
  EXPECT_EQ(blows.stops, 1);
  EXPECT_GT(blows.taken_from_killed + blows.taken_from_stopped, 0);
}

}  // namespace
}  // namespace perdure::herd
