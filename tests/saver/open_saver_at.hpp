// A saver on a store anywhere.

#pragma once

#include <memory>
#include <string>
#include <utility>

#include "perdure/adapters/saver.hpp"
#include "perdure/core/error.hpp"
#include "perdure/store/store.hpp"

namespace perdure {

[[nodiscard]] inline Result<std::unique_ptr<CheckpointSaver>> open_saver_at(
    const std::string& location) {
  constexpr std::size_t scheme = sizeof "sqlite:" - 1;
  if (location.starts_with("sqlite:")) return open_saver(location.substr(scheme));
  auto store = open_store(location);
  if (!store) return forward(store);
  return make_saver(*std::move(store));
}

}  // namespace perdure
