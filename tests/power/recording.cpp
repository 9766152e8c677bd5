// A lease is not synced before it is granted: whoever holds it dies with the machine. Its
// fence counts once a synced step rests on it.

#include "power/recording.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>

#include "doubles/fake_clock.hpp"
#include "store/sqlite/sqlite_store.hpp"

namespace perdure {

Recording record(const Run& run) {
  PowerVfs vfs("power", run.folder);
  Recording recording;
  recording.begin = vfs.calls();
  FakeClock clock;
  OpenOptions options;
  options.clock = &clock;
  options.durability = run.durability;
  auto store =
      sqlite::open_sqlite({.path = run.folder + "/store.db", .open = options, .vfs = vfs.name()});
  if (!store) throw std::runtime_error("the store does not open: " + store.error().message);
  const auto worker = WorkerId::parse(run.worker).value();
  auto enrolled = (*store)->ownership().enroll({.id = worker, .host = "here", .pid = 1});
  if (!enrolled) throw std::runtime_error("cannot enroll: " + enrolled.error().message);

  Script script(**store, clock, worker, run.load);
  script.on_lease([&](const Lease& lease) {
    recording.said.push_back(
        {.calls = vfs.calls(),
         .line = fmt::format("lease {} {}", lease.session.text(), lease.fence)});
  });
  script.run([&](std::size_t number, const Action& step) {
    const bool promised = step.answer && step.sync == Sync::now;
    recording.said.push_back({.calls = vfs.calls(),
                              .line = fmt::format("step {} {}", number, answer_text(step)),
                              .synced = promised && run.durability == Durability::full});
  });
  store->reset();
  recording.calls = vfs.take();
  return recording;
}

void hear_until(std::size_t cut, const Recording& recording, Testimony& testimony,
                std::size_t& synced) {
  std::vector<std::string> leases;
  std::size_t steps = 0;
  for (const Recording::Said& said : recording.said) {
    if (said.calls > cut) break;
    if (said.line.starts_with("lease")) {
      leases.push_back(said.line);
      continue;
    }
    testimony.hear(said.line);
    ++steps;
    if (!said.synced) continue;
    synced = std::max(synced, steps);
    for (const std::string& lease : leases) testimony.hear(lease);
    leases.clear();
  }
  testimony.lose_beyond(synced);
}

}  // namespace perdure
