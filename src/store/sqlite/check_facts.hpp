// What a check knows of one session before it reads its log.

#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/entry.hpp"
#include "sqlite/check_run.hpp"
#include "sqlite/line.hpp"

namespace perdure::sqlite {

/// The summary row, as far as the log can bear it out.
struct Summary {
  std::int64_t number = 0;
  SessionId id{};
  SegmentId segment = 0;
  Position head = 0;
  Position next = 0;
  Version version = 0;
  std::uint64_t commits = 0;
  Digest chain{};
  Tally tally{};
  std::int64_t attention = 0;
};

/// Reads the row and looks at what it says by itself. Empty if there is no such row.
[[nodiscard]] std::optional<Summary> check_summary_row(CheckRun& run, std::int64_t number);

/// The session's segments by number, each looked at by itself and beside the one before.
[[nodiscard]] std::vector<Part> check_segments(CheckRun& run, const Summary& session);

/// The totals of a line, from its entries and what was pruned of it; empty if one of
/// its entries is lost, so that nobody can tell.
[[nodiscard]] std::optional<Tally> count_tally(Connection& db, Place place);

/// Whether the segment has the entry, or had it before it was pruned.
[[nodiscard]] bool is_accounted_for(Connection& db, Place place);

/// The calls whose intents are at these positions, which one commit put there.
struct CommitOfCalls {
  SegmentId segment = 0;
  Position first = 0;
  Position last = 0;
  Timestamp at{};
};
/// Adds to `in_doubt` those that are. Returns how many calls there are.
std::uint64_t check_calls(CheckRun& run, const Summary& session, const CommitOfCalls& commit,
                          std::int64_t& in_doubt);

void check_inbox(CheckRun& run, const Summary& session);

/// Whether a body that names a blob names one that is there.
[[nodiscard]] bool is_blob_there(Connection& db, const Body& body);

}  // namespace perdure::sqlite
