// Two stores, one of every backend, and a bundle between them.

#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "contract/backends.hpp"
#include "doubles/counting_ids.hpp"
#include "doubles/fake_clock.hpp"
#include "doubles/must.hpp"
#include "doubles/temp_folder.hpp"
#include "perdure/store/bundle.hpp"
#include "perdure/store/open.hpp"

namespace perdure {

struct Way {
  Backend from;
  Backend to;
};

inline void PrintTo(const Way& way, std::ostream* out) {
  *out << way.from.name << "_to_" << way.to.name;
}

inline SessionId named(const std::string& name) { return must(SessionId::parse(name)); }

/// Without the lines that say what state sessions are in: those are changed on purpose.
inline std::string but_for_rows(const std::string& portrait) {
  std::string kept;
  std::istringstream lines(portrait);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("session ") && !line.starts_with("restored ")) kept += line + "\n";
  }
  return kept;
}

class BundleTest : public testing::TestWithParam<Way> {
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

  std::vector<SessionSummary> rows(Store& store) {
    SessionQuery all{.sort = SessionSort::created, .descending = false, .limit = 1000};
    return must(store.sessions().list(all)).sessions;
  }

  static void expect_sound(Store& store) {
    const auto report = must(store.upkeep().check());
    EXPECT_TRUE(report.is_sound()) << (report.damage.empty() ? "" : report.damage[0].what);
  }

  void expect_untouched() {
    EXPECT_THAT(rows(*to), testing::IsEmpty());
    EXPECT_EQ(must(to->transfer().find_arrival("bundle")).ticket, 0U);
    const auto report = must(to->upkeep().check());
    EXPECT_TRUE(report.is_sound());
    EXPECT_EQ(report.entries, 0U);
  }

  static Progress stop_at(int step) {
    return [left = step](const Step&) mutable { return --left > 0; };
  }

  TempFolder folder;
  const std::string path = folder.file("sessions.bundle");
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
