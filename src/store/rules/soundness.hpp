// What must be true of stored values, whichever backend holds them.

#pragma once

#include <string>

#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "rules/stored_session.hpp"

namespace perdure::rules {

/// Why no sequence of steps (calls.hpp) leads to such a call; empty if one does.
[[nodiscard]] std::string find_contradiction(const Call& call);

/// What of a session's row says something by itself.
struct SummaryWords {
  std::string status{};
  std::string tags{};
  std::string metadata{};
  std::string lineage{};
  bool has_parent = false;
};
/// Which of them cannot be; empty if all can.
[[nodiscard]] std::string find_bad_word(const SummaryWords& words);

/// What is wrong with a segment of a session, beside the session's one before it, if there is one.
[[nodiscard]] std::string find_bad_segment(const Part& part, const Part* before,
                                           bool is_parent_there);

/// Whether one entry can add as much.
[[nodiscard]] bool is_possible(const Tally& tally);

/// An entry that stands for one that is lost: no salvage found it. Its hash is all
/// zeros, its body empty, so that every reader sees it as damaged.
[[nodiscard]] Entry lost_entry(SegmentId segment, Position position);
[[nodiscard]] bool is_lost(const Entry& entry);

}  // namespace perdure::rules
