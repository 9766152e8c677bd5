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
