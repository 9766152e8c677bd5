// Two stores, one of every backend: sessions go from the one to the other.

#pragma once

#include <gtest/gtest.h>
#include <memory>
#include <ostream>

#include "contract/backends.hpp"
#include "doubles/counting_ids.hpp"
#include "doubles/fake_clock.hpp"
#include "doubles/must.hpp"
#include "perdure/store/store.hpp"

namespace perdure {

struct Route {
  Backend from;
  Backend to;
};

inline void PrintTo(const Route& route, std::ostream* out) {
  *out << route.from.name << "_to_" << route.to.name;
}

class TwoStores : public testing::TestWithParam<Route> {
 protected:
  std::unique_ptr<Store> open(const StorePlace& place) {
    return must(open_store(place.location(), {.clock = &clock, .ids = &ids}));
  }

  Lease own(Store& store, const SessionId& session) {
    if (!store.ownership().renew(worker)) {
      must(store.ownership().enroll({.id = worker, .host = "host", .pid = 1}));
    }
    return must(store.ownership().acquire(session, worker));
  }

  Receipt say(Store& store, const SessionId& session) {
    const Lease lease = own(store, session);
    Batch batch;
    batch.id = mint<BatchTag>(fresh);
    batch.expected_head = must(store.sessions().read(session)).head;
    batch.entries.push_back(
        {.channel = "transcript", .kind = "message", .body = Body::from_text("{}")});
    const Receipt receipt = must(store.commit(lease, batch));
    must(store.ownership().release(lease));
    return receipt;
  }

  /// Stops at the so-manyth step.
  static Progress stop_at(int step) {
    return [left = step](const Step&) mutable { return --left > 0; };
  }

  static void expect_sound(Store& store) {
    const auto report = must(store.upkeep().check());
    EXPECT_TRUE(report.is_sound()) << (report.damage.empty() ? "" : report.damage[0].what);
  }

  StorePlace from_place{GetParam().from};
  StorePlace to_place{GetParam().to};
  FakeClock clock;
  CountingIds ids;
  CountingIds fresh{1};
  const WorkerId worker = must(WorkerId::parse("worker"));
  const std::unique_ptr<Store> from = open(from_place);
  const std::unique_ptr<Store> to = open(to_place);
};

}  // namespace perdure
