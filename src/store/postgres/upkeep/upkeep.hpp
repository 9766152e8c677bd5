// The store's long work, as many short statements, so that the writes of others go on between.

#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/store/upkeep.hpp"
#include "postgres/client/client.hpp"
#include "postgres/operations/roles.hpp"
#include "rules/followed.hpp"

namespace perdure::postgres {

/// What one slice may touch. Together they stay well below 50 ms; a single body or
/// blob that is larger goes in a slice of its own.
inline constexpr std::int64_t slice_rows = 256;
inline constexpr std::int64_t slice_bytes = std::int64_t{4} << 20U;

class Slices {
 public:
  /// Must outlive this.
  explicit Slices(const Progress& progress) : progress_(progress) {}

  /// How far the work has come; for the work to keep up to date.
  Step step;

  /// Repeats `work() -> Result<bool>`, one statement each time, while it says that there is more to
  /// do, and until it is told to stop. A slice whose reply was lost is done again, and finds
  /// nothing: what it freed is then not counted. Fails: as `work`; as rules::goes_on.
  template <class Work>
  [[nodiscard]] Result<void> run(Work work) {
    bool more = true;
    while (more && !stopped_) {
      Result<bool> done = work();
      if (!done) return forward(done);
      more = *done;
      auto told = rules::goes_on(progress_, step);
      if (!told) return forward(told);
      stopped_ = !*told;
    }
    return {};
  }

  /// From now on no slice is run.
  [[nodiscard]] bool stopped() const { return stopped_; }

 private:
  const Progress& progress_;
  bool stopped_ = false;
};

/// Sessions that are removed and not cleared, by number.
[[nodiscard]] Result<std::vector<std::int64_t>> list_garbage(const Access& access);

/// Clears these, and the removed sessions that existed only for their sake. What forks
/// still need stays, trimmed to what they can see.
[[nodiscard]] Result<Freed> clear_garbage(const Access& access, Slices& slices,
                                          std::vector<std::int64_t> sessions);

[[nodiscard]] Result<CheckReport> check_store(const Access& access, const Progress& progress);

/// What the promises of a store rest on at its server.
[[nodiscard]] Result<std::vector<Remark>> examine(Client& client, Durability durability);

}  // namespace perdure::postgres
