// Waiting for changes: with notifications, which are a hint and few, and without.

#include <chrono>
#include <fmt/format.h>
#include <future>
#include <gtest/gtest.h>
#include <libpq-fe.h>
#include <memory>
#include <poll.h>
#include <string>
#include <string_view>

#include "crash/load.hpp"
#include "doubles/must.hpp"
#include "doubles/postgres_cluster.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "postgres/proxied.hpp"

namespace perdure {
namespace {

using namespace std::chrono_literals;

class WakeUps : public testing::TestWithParam<const char*> {
 protected:
  [[nodiscard]] std::unique_ptr<Store> open() const {
    return must(open_store(schema.location(GetParam())));
  }

  const PostgresSchema schema;
};

TEST_P(WakeUps, AnotherProcessesWriteEndsTheWait) {
  const auto store = open();
  const auto other = open();
  for (int round = 0; round < 5; ++round) {
    const auto since = must(store->change_number());
    auto waiting =
        std::async(std::launch::async, [&] { return store->wait_for_change(since, 5min); });
    const auto id = SessionId::parse(fmt::format("session {}", round)).value();

    must(other->sessions().create({.id = id}));

    const auto number = waiting.get();
    ASSERT_TRUE(number.has_value()) << number.error().message;
    ASSERT_GT(*number, since);
    // What was written before it returned can be read.
    EXPECT_TRUE(store->sessions().read(id).has_value());
  }
}

TEST_P(WakeUps, WithoutAWriteTheWaitEndsWithItsTime) {
  const auto store = open();
  const auto since = must(store->change_number());
  const Uptime before = system_clock().uptime();

  const auto number = store->wait_for_change(since, 300ms);

  EXPECT_EQ(number, since);
  EXPECT_GE(system_clock().uptime() - before, 300ms);
}

INSTANTIATE_TEST_SUITE_P(Notifying, WakeUps, testing::Values("notify=on", "notify=off"),
                         [](const auto& named) {
                           return std::string(named.param) == "notify=on" ? "On" : "Off";
                         });

struct EndsListening {
  void operator()(PGconn* connection) const { PQfinish(connection); }
};

/// Hears every notification of the database, on any channel that a store may use.
class Listener {
 public:
  explicit Listener(const std::string& channel)
      : connection_(PQconnectdb(cluster().address().c_str())) {
    PQclear(PQexec(connection_.get(), ("LISTEN " + channel).c_str()));
  }

  /// How many came until `quiet` passed without one.
  int count(Duration quiet) {
    int heard = 0;
    for (;;) {
      while (PGnotify* const note = PQnotifies(connection_.get())) {
        ++heard;
        PQfreemem(note);
      }
      pollfd way{.fd = PQsocket(connection_.get()), .events = POLLIN, .revents = 0};
      if (poll(&way, 1, static_cast<int>(quiet.count())) <= 0) return heard;
      if (PQconsumeInput(connection_.get()) == 0) return heard;
    }
  }

 private:
  std::unique_ptr<PGconn, EndsListening> connection_;
};

// The channel that a store listens to, as the server knows it. Other tests listen there too: `named` is
// what is in the name of this one.
std::string channel_of(Store& store, std::string_view named) {
  auto waiting = std::async(
      std::launch::async, [&] { return store.wait_for_change(must(store.change_number()), 5min); });
  std::string query;
  for (int asked = 0; asked < 1000 && query.empty(); ++asked) {
    query =
        cluster().one(fmt::format("SELECT query FROM pg_stat_activity WHERE query LIKE 'LISTEN%{}%'"
                                  " AND pid <> pg_backend_pid() LIMIT 1",
                                  named));
  }
  must(store.sessions().create({.id = SessionId::parse("wakes the one that waits").value()}));
  (void)waiting.get();
  return query.substr(query.find(' ') + 1);
}

TEST(Notifications, OfManyCommitsAreFew) {
  const PostgresSchema schema;
  const auto store = must(open_store(schema.location()));
  const std::string channel = channel_of(*store, schema.name());
  ASSERT_NE(channel, "");
  Listener listener(channel);
  const Lease lease = own_session(*store, "session");
  constexpr Version turns = 200;

  const Uptime before = system_clock().uptime();
  for (Version turn = 1; turn <= turns; ++turn) {
    must(store->commit(lease, turn_batch(lease.session, turn)));
  }
  const auto took = std::chrono::duration_cast<Duration>(system_clock().uptime() - before);
  const int heard = listener.count(2s);

  EXPECT_GE(heard, 1);
  EXPECT_LE(heard, 5 + took / 20ms) << "in " << took.count() << " ms";
  EXPECT_LT(heard, static_cast<int>(turns));
}

TEST(Notifications, AreHeardInASchemaOfTheLongestName) {
  const PostgresSchema schema;
  const std::string name = (schema.name() + std::string(63, 'x')).substr(0, 63);
  {
    const auto store = must(open_store(cluster().address() + "?schema=" + name));
    Listener listener(channel_of(*store, to_hex(sha256(name)).substr(0, 40)));

    (void)own_session(*store, "session");

    EXPECT_GE(listener.count(1s), 1);
  }
  cluster().execute("DROP SCHEMA " + name + " CASCADE");
}

TEST(Notifications, AreNotSentWhenTheyAreOff) {
  const PostgresSchema schema;
  const auto loud = must(open_store(schema.location()));
  const std::string channel = channel_of(*loud, schema.name());
  const auto store = must(open_store(schema.location("notify=off")));
  Listener listener(channel);
  (void)listener.count(500ms);

  (void)own_session(*store, "session");

  EXPECT_EQ(listener.count(1s), 0);
}

}  // namespace
}  // namespace perdure
