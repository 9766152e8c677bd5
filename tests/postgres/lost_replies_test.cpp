// The connection is cut at every place of every round trip of a run that does every kind of write.
// Whoever calls the store notices nothing: each write answers as it does without a cut, and what is
// stored is the same.

#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <iostream>
#include <string>
#include <vector>

#include "contract/describe.hpp"
#include "crash/portrait.hpp"
#include "crash/script.hpp"
#include "doubles/fake_clock.hpp"
#include "doubles/must.hpp"
#include "doubles/pg_script.hpp"
#include "doubles/postgres_cluster.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/store.hpp"
#include "postgres/proxied.hpp"

namespace perdure {
namespace {

AskFor all_that_the_script_made() {
  const std::string blob = Script::blob(Load::small);
  return {.receipts = Script::batches(), .blobs = {{sha256(blob), blob.size()}}};
}

// What the script was answered, and what it left.
struct Outcome {
  std::vector<std::string> answers;
  std::string left;
  bool operator==(const Outcome&) const = default;
};

class LostReplies : public testing::TestWithParam<PgPlace> {
 protected:
  LostReplies() { options.clock = &clock; }

  Outcome run() {
    clear();
    Outcome done;
    {
      const auto store = proxied.open(options);
      const auto worker = WorkerId::parse("writer").value();
      must(store->ownership().enroll({.id = worker, .host = "here", .pid = 1}));
      Script script(*store, clock, worker, Load::small);
      script.run([&](std::size_t number, const Action& action) {
        done.answers.push_back(
            fmt::format("{} {}: {}", number, action.name, describe(action.answer)));
      });
    }
    done.left = portrait(*proxied.look(options), all_that_the_script_made());
    return done;
  }

  Proxied proxied;
  FakeClock clock;
  OpenOptions options;

 private:
  // A schema is dear to make; an empty one is as good as new.
  void clear() {
    cluster().execute(fmt::format(
        "DO $$ DECLARE t record; BEGIN "
        "FOR t IN SELECT relname, relkind FROM pg_class WHERE relnamespace = "
        "    to_regnamespace('{0}') AND relkind IN ('r', 'S') AND relname <> 'meta' LOOP "
        "  IF t.relkind = 'r' THEN EXECUTE format('DELETE FROM {0}.%I', t.relname); "
        "  ELSE EXECUTE format('ALTER SEQUENCE {0}.%I RESTART', t.relname); END IF; "
        "END LOOP; END $$",
        proxied.schema.name()));
  }
};

TEST_P(LostReplies, AreNoticedByNobody) {
  const Outcome whole = run();
  int cuts = 0;
  for (std::uint64_t nth = 1;; ++nth) {
    const auto connections = proxied.proxy.counts().connections;
    // Not what tells others of writes: how often that happens is a matter of time.
    proxied.proxy.plan({.at = GetParam(), .but = ".tell(", .nth = nth});

    const Outcome with_a_cut = run();

    if (!proxied.proxy.wait_for_plans(Duration(0))) break;
    ++cuts;
    EXPECT_GT(proxied.proxy.counts().connections, connections + 1) << "nobody connected anew";
    ASSERT_EQ(with_a_cut.answers, whole.answers) << "cut at round trip " << nth;
    ASSERT_EQ(with_a_cut.left, whole.left) << "cut at round trip " << nth;
  }
  EXPECT_GT(cuts, 25);
  std::cout << fmt::format("lost replies {}: {} cuts, 0 violations\n", to_string(GetParam()), cuts);
}

INSTANTIATE_TEST_SUITE_P(Every, LostReplies, testing::ValuesIn(every_pg_place),
                         [](const auto& named) { return std::string(to_string(named.param)); });

class LostWhileOpening : public testing::TestWithParam<PgPlace> {};

// Whoever makes the store may lose its connection anywhere in a migration.
TEST_P(LostWhileOpening, LeavesAStoreOrNone) {
  for (std::uint64_t nth = 1;; ++nth) {
    Proxied proxied;
    proxied.proxy.plan({.at = GetParam(), .nth = nth});

    const auto first = open_store(proxied.location());
    if (!first) {
      EXPECT_EQ(first.error().code, ErrorCode::unavailable) << first.error().message;
    }
    const bool was_cut = proxied.proxy.wait_for_plans(Duration(0));
    const auto second = open_store(proxied.location());

    ASSERT_TRUE(second.has_value()) << second.error().message;
    (void)own_session(**second, "session");
    if (!was_cut) break;
  }
}

INSTANTIATE_TEST_SUITE_P(Every, LostWhileOpening, testing::ValuesIn(every_pg_place),
                         [](const auto& named) { return std::string(to_string(named.param)); });

}  // namespace
}  // namespace perdure
