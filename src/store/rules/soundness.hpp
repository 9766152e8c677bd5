// What must be true of stored values, whichever backend holds them.

#pragma once

#include <string>

#include "perdure/store/entry.hpp"
#include "perdure/store/ledger.hpp"

namespace perdure::rules {

/// Why no sequence of steps (calls.hpp) leads to such a call; empty if one does.
[[nodiscard]] std::string find_contradiction(const Call& call);

/// An entry that stands for one that is lost: no salvage found it. Its hash is all
/// zeros, its body empty, so that every reader sees it as damaged.
[[nodiscard]] Entry lost_entry(SegmentId segment, Position position);
[[nodiscard]] bool is_lost(const Entry& entry);

}  // namespace perdure::rules
