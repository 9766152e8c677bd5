// A tool that dies on its way throws: its request is not sent, and what it says is committed by
// nobody, because the store no longer hears its process.

#include "effects/memory_trial.hpp"

#include <atomic>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <utility>

#include "doubles/must.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/store.hpp"
#include "world/client.hpp"
#include "world/tools.hpp"

namespace perdure::effects {
namespace {

struct Killed {};

}  // namespace

MemoryTrial::MemoryTrial(Manner manner)
    : Trial(manner, {"memory", Home::object}),
      memory_(must(open_store("memory:", {.clock = &clock_}))),
      counted_(*memory_) {
  counted_.on_commit([this](const Lease& lease, const Batch& batch) {
    ++commits_;
    return memory_->commit(lease, batch);
  });
}

bool MemoryTrial::play(const Death& death) {
  simulation::MortalStore store(counted_, graves_);
  const bool is_made = death.write % 2 == 0;
  const auto mishap = is_made ? simulation::Mishap::death_after : simulation::Mishap::death_before;
  if (death.write > 0) store.plan((death.write + 1) / 2, mishap, 1);
  std::atomic<std::uint64_t> moments = 0;
  const WorldClient client(world().socket(), [&](world::Moment) {
    if (++moments == death.moment) store.die();
    if (store.is_dead()) throw Killed{};
  });
  std::optional<Result<std::optional<Waiting>>> ended;
  try {
    const auto runtime =
        must(Runtime::start(store, {.renews_itself = false,
                                    .tools = must(Tools::of(unlucky(world::every_tool(client)))),
                                    .clock = &clock_}));
    ended = effects::play({.runtime = *runtime,
                           .session = session(),
                           .world = client,
                           .clock = clock_,
                           .manner = manner(),
                           .say = [&](const std::string& line) { hear(line); }});
  } catch (const Killed&) {
    ended.reset();
  }
  if (store.is_dead()) {
    bury(store);
    return false;
  }
  if (!*ended) {
    hear(fmt::format("failed {}", ended->error().message));
  } else if (**ended) {
    hear(fmt::format("waits {}", (**ended)->call));
  } else {
    hear(fmt::format("done {} {}", 2 * commits_, moments.load()));
  }
  return true;
}

void MemoryTrial::bury(const simulation::MortalStore& store) {
  const auto row = memory_->sessions().read(session());
  if (row && row->holder && row->holder->worker == store.worker()) {
    Holder holder = *row->holder;
    holder.alive = false;
    holder.gone = true;
    graves_[session().text()] = holder;
  }
  must(memory_->ownership().retire(store.worker()));
}

}  // namespace perdure::effects
