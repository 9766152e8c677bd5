// How a store's incarnation is named: new for every store, also for one that was restored.

#pragma once

#include <string_view>

namespace perdure::rules {

struct StoreTag {
  static constexpr std::string_view prefix = "sto_";
};

}  // namespace perdure::rules
