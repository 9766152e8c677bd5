// The workload's turns, and the batch that commits one.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "perdure/store/store.hpp"

namespace perdure::bench {

struct Turn {
  std::vector<std::string> messages;  ///< Each a JSON text, as the workload spells it.
  std::string plan;

  /// What a caller hands in: the bodies.
  [[nodiscard]] std::uint64_t bytes() const;
};

/// Stops the process if the file cannot be read: there is nothing to measure then.
[[nodiscard]] std::vector<Turn> read_workload(const std::string& path);

/// Four messages, the plan, a checkpoint. bare_rows.c writes the same rows.
[[nodiscard]] Batch make_batch(const Turn& turn, Position expected_head);

}  // namespace perdure::bench
