// What this build can keep sessions in: for `perdure version`, and for reports of faults.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace perdure {

struct BuiltBackend {
  std::string name{};       ///< As StoreInfo has it.
  std::string library{};    ///< Its engine's library and the version that runs; empty if none.
  std::int64_t format = 0;  ///< That it writes; 0: nothing is kept.
};

[[nodiscard]] std::vector<BuiltBackend> built_backends();

}  // namespace perdure
