// From the text of a location to a store.

#pragma once

#include <memory>
#include <string>

#include "perdure/core/error.hpp"
#include "perdure/core/id_source.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/store.hpp"

namespace perdure {

struct OpenOptions {
  Durability durability = Durability::full;
  /// Make the store if it is not there.
  bool create = true;
  /// How long a write waits for another process that is writing, before `unavailable`.
  Duration write_wait{10'000};
  /// Both must outlive the store. Null: the machine's.
  Clock* clock = &system_clock();
  IdSource* ids = &random_ids();
};

/// `memory:` or the path of a file, with or without `sqlite:` in front. The folder must exist. One
/// process may open the same file several times. Fails: `not_found` if it is not there and `create`
/// is off; `unsupported` for a newer format; `invalid_argument` for a scheme this build lacks;
/// `corrupted` if it is not a store, or one whose file is empty or gone; `unavailable`, with the
/// subject `authority` if the caller may not open it.
[[nodiscard]] Result<std::unique_ptr<Store>> open_store(const std::string& location,
                                                        const OpenOptions& options = {});

}  // namespace perdure
