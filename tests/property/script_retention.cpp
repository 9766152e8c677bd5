// What the random steps forget: versions, bodies, sessions, blobs.

#include "contract/describe.hpp"
#include "property/script.hpp"

namespace perdure {

using namespace std::chrono_literals;

Action Script::prune() {
  const SessionId session = some_session();
  if (dice_.chance(40)) {
    const auto row = oracle_.sessions().read(session);
    const Version version = dice_.between(dice_.chance(90) ? 1 : 0, row ? row->version : 3);
    return {"forget " + session.text() + "@v" + std::to_string(version),
            [=](Store& store) { return describe(store.upkeep().forget(session, version)); }};
  }
  Keep keep;
  keep.last = dice_.below(4);
  if (dice_.chance(30)) keep.since = some_time();
  if (dice_.chance(30)) keep.every = dice_.between(1, 3);
  keep.labelled = dice_.chance(30);
  return {"prune " + session.text(),
          [=](Store& store) { return describe(store.upkeep().prune(session, keep)); }};
}

Action Script::erase() {
  const SessionId session = some_session();
  std::vector<Position> positions;
  for (std::uint64_t i = dice_.below(4); i > 0; --i) positions.push_back(some_position(session));
  return {"erase in " + session.text(),
          [=](Store& store) { return describe(store.upkeep().erase(session, positions)); }};
}

Action Script::remove() {
  // One that can be removed, if chance finds it: unowned, and nothing of it unresolved.
  SessionId session = some_session();
  for (int i = 0; i < 5; ++i) {
    const auto row = oracle_.sessions().read(session);
    if (row && !row->holder && row->attention == 0) break;
    session = some_session();
  }
  return {"remove " + session.text(),
          [=](Store& store) { return describe(store.upkeep().remove(session)); }};
}

Action Script::collect() {
  const Duration staged_for = dice_.chance(10) ? 59'999ms : Duration(60'000 + dice_.below(20'000));
  const bool vacuums = dice_.chance(50);
  if (dice_.chance(50)) clock_.advance(61s);
  return {"collect blobs", [=](Store& store) {
            std::string text = describe(store.upkeep().collect_blobs(staged_for));
            // How many pages a backend has is its own affair.
            if (vacuums && !store.upkeep().vacuum()) return text + ", vacuum failed";
            return text;
          }};
}

}  // namespace perdure
