// Work that tells a user how far it has come: what that user's code throws ends it, and no more.

#pragma once

#include <expected>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/api/guarded.hpp"
#include "perdure/core/error.hpp"
#include "perdure/store/upkeep.hpp"

namespace perdure::rules {

/// False: stop. Fails: `unavailable` if it throws.
[[nodiscard]] inline Result<bool> goes_on(const Progress& progress, const Step& step) {
  if (!progress) return true;
  return guarded("the progress observer", [&] { return progress(step); });
}

/// Long work as many short slices, so that the writes of others continue in between.
class Slices {
 public:
  explicit Slices(Progress progress = {}) : progress_(std::move(progress)) {}

  /// How far the work has come; for the work to keep up to date.
  Step step{};

  /// Repeats `work() -> Result<bool>` while it says that there is more to do, and until it is asked
  /// to stop. Fails: as `work`; as goes_on.
  template <class Work>
  [[nodiscard]] Result<void> run(Work work) {
    bool more = true;
    while (more && !stopped_) {
      Result<bool> done = work();
      if (!done) return forward(done);
      more = *done;
      auto told = goes_on(progress_, step);
      if (!told) return forward(told);
      stopped_ = !*told;
    }
    return {};
  }

  /// From now on no slice is run.
  [[nodiscard]] bool stopped() const { return stopped_; }

 private:
  const Progress progress_;
  bool stopped_ = false;
};

/// For work that asks where no error can be handed on: it is given a progress that never throws, and
/// that tells it to stop instead; then it fails as goes_on, unless it failed by itself.
template <class Work>
[[nodiscard]] auto followed(const Progress& progress, const Work& work)
    -> std::invoke_result_t<const Work&, const Progress&> {
  if (!progress) return work(progress);
  std::optional<Error> thrown;
  auto done = work([&](const Step& step) {
    auto told = goes_on(progress, step);
    if (!told) thrown = std::move(told).error();
    return told && *told;
  });
  if (thrown) return std::unexpected(*std::move(thrown));
  return done;
}

}  // namespace perdure::rules
