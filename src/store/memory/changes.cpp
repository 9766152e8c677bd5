// Waiting for a change of a memory store: only this process can make one.

#include <cstdint>

#include "memory/roles.hpp"
#include "memory/state.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"

namespace perdure::memory {

Result<std::uint64_t> MemoryStore::current() {
  return base_.state.with([](State& state) -> Result<std::uint64_t> { return state.changes; });
}

Result<std::uint64_t> MemoryStore::wait(std::uint64_t since, Duration timeout) {
  return base_.state.wait(
      timeout, [since](const State& state) { return state.changes > since; },
      [](const State& state) -> Result<std::uint64_t> { return state.changes; });
}

}  // namespace perdure::memory
