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
#include <sched.h>
#include <string>

#include "crash/scale.hpp"
#include "doubles/must.hpp"
#include "doubles/postgres_cluster.hpp"
#include "doubles/postgres_wait.hpp"
#include "perdure/store/open.hpp"

namespace perdure::herd {
namespace {

// Until the lease of that process is over, by the server's clock.
void wait_for_its_lease(const PostgresSchema& schema, pid_t process) {
  wait_for_answer(cluster().address(),
                  fmt::format("SELECT count(*) FROM {}.worker WHERE pid = {} AND until > "
                              "extract(epoch FROM clock_timestamp()) * 1000",
                              schema.name(), process),
                  "0");
}

TEST(Herd, IsTakenOverByOthersWhenItsOwnersAreKilledOrStopped) {
  const bool is_long = scale().rounds.has_value();
  const int rounds = scale().rounds.value_or(4);
  const int sessions = is_long ? 50 : 12;
  std::cout << "seed " << scale().seed << " (--seed=N repeats its choices)\n";
  std::mt19937_64 chance(scale().seed);
  const PostgresSchema schema;
  (void)must(open_store(schema.location()));
  Herd herd(schema.location(), sessions, 3);
  int done = 0;
  for (; done < rounds; ++done) {
    if (!herd.hear(1 + static_cast<int>(chance() % (is_long ? 24 : 12)))) break;
    const std::size_t which = chance() % herd.processes();
    if (chance() % 2 == 0) {
      herd.replace(which);
      continue;
    }
    herd.stop(which);
    wait_for_its_lease(schema, herd.pid(which));
    (void)herd.hear(10);
    herd.go_on(which);
  }

  EXPECT_THAT(herd.finish(), testing::IsEmpty());
  EXPECT_GT(done, 1);
  tell("herd", done);
}

}  // namespace
}  // namespace perdure::herd
