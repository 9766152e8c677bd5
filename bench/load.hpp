// Bringing a session's state back in a fresh process: from the store, and, as the comparator,
// from a flat file that holds the same entries.

#pragma once

#include <map>
#include <string>
#include <vector>

#include "perdure/core/json.hpp"
#include "perdure/store/store.hpp"

namespace perdure::bench {

struct Loaded {
  std::map<std::string, std::vector<Json>> channels;  ///< The fold over all entries.
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;  ///< Of the bodies.
  double took_us = 0;
};

/// Opens the store, reads session 0, parses every body, folds.
[[nodiscard]] Loaded load_store(const std::string& path);
/// The same from the flat file.
[[nodiscard]] Loaded load_flat(const std::string& path);

/// Writes the entries of session 0 to a flat file.
void write_flat(const std::string& store_path, const std::string& flat_path);

}  // namespace perdure::bench
