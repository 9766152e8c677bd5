// Which backends the contract holds for. A backend joins by one line in every_backend().

#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "doubles/temp_folder.hpp"

namespace perdure {

struct Backend {
  std::string name;
  std::string scheme;
  std::string
      file;  ///< Empty: nothing survives the store object, and no two objects share a store.

  [[nodiscard]] bool survives() const { return !file.empty(); }
  [[nodiscard]] std::string location(const TempFolder& folder) const {
    return survives() ? scheme + folder.file(file) : scheme;
  }
};

inline void PrintTo(const Backend& backend, std::ostream* out) { *out << backend.name; }

[[nodiscard]] inline std::vector<Backend> every_backend() {
  return {
      {"memory", "memory:", ""},
      {"sqlite", "sqlite:", "store.db"},
  };
}

/// Those whose stores outlive the store object and can be opened more than once.
[[nodiscard]] inline std::vector<Backend> surviving_backends() {
  auto backends = every_backend();
  std::erase_if(backends, [](const Backend& backend) { return !backend.survives(); });
  return backends;
}

}  // namespace perdure
