// The same session and judge over the memory backend: a process is a runtime that nobody hears any
// more once it is dead.

#pragma once

#include <memory>
#include <string>

#include "doubles/fake_clock.hpp"
#include "doubles/watched_store.hpp"
#include "effects/play.hpp"
#include "effects/trial.hpp"
#include "perdure/store/store.hpp"
#include "simulation/mortal_store.hpp"

namespace perdure::effects {

class MemoryTrial final : public Trial {
 public:
  explicit MemoryTrial(Manner manner);

  /// A write is a commit here: an odd death leaves it out, an even one makes it and tells nobody.
  bool play(const Death& death) override;

 private:
  [[nodiscard]] std::shared_ptr<Store> look() override { return memory_; }
  /// Whoever finds a process dead on its own machine knows that it is gone.
  void bury(const simulation::MortalStore& store);

  FakeClock clock_;
  std::shared_ptr<Store> memory_;
  WatchedStore counted_;
  std::uint64_t commits_ = 0;
  simulation::Graves graves_;
};

}  // namespace perdure::effects
