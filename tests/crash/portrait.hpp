// All that a store says about sessions, as text, but for who owned them: what must be
// equal however often the writer was killed and another went on.

#pragma once

#include <string>
#include <utility>
#include <vector>

#include "perdure/store/store.hpp"

namespace perdure {

/// What cannot be listed is asked for by name.
struct AskFor {
  std::vector<std::pair<SessionId, BatchId>> receipts;
  std::vector<BlobRef> blobs;
};

[[nodiscard]] std::string portrait(Store& store, const AskFor& ask_for);

}  // namespace perdure
