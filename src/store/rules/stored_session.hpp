// Histories as rows: places and stretches, and one session's rows for a check.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "store/api/transfer.hpp"

namespace perdure::rules {

// Places and stretches of histories, as every backend that keeps rows means them.

inline constexpr Position position_max = 0xFFFF'FFFF;

/// The end of a line: everything up to `position` as seen from `segment`.
struct Place {
  SegmentId segment = 0;
  Position position = 0;
};

/// The part of a line that is in one segment.
struct Part {
  SegmentId segment = 0;
  std::int64_t session = 0;  ///< The number of the session that owns the segment, or owned it.
  Position first = 0;
  Position last = 0;  ///< Nothing of the segment beyond it is on the line.
  std::optional<SegmentId> parent;
  Position parent_position = 0;
};

/// A stretch of one segment's positions, both ends included.
struct Stretch {
  SegmentId segment = 0;
  Position first = 0;
  Position last = 0;
};

/// The summary row, as far as the log can bear it out.
struct StoredSummary {
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

/// The position of the commit's last entry.
[[nodiscard]] inline Position last_of(const ReceiptFact& commit) {
  return commit.receipt.first + commit.receipt.count - 1;
}

/// A call, and which of the entries it names are there, or were before they were pruned.
struct StoredCall {
  Call call{};
  SegmentId segment = 0;
  bool has_known_words = true;  ///< Its state, effect class and key are such as calls have.
  bool has_intent = true;
  bool has_args = true;  ///< On the line to the end of the commit that wrote it down.
  bool has_result = true;
};

/// A row of the inbox.
struct StoredMessage {
  std::string id{};
  std::string kind{};
  std::int64_t codec = 0;
  bool is_consumed = false;
  bool has_body = false;
  std::string bytes{};
};

struct EntryVisitor {
  std::function<void(Entry&&)> entry;
  /// Positions without a readable row: damaged, or dropped on purpose.
  std::function<void(Position first, Position last)> missing;
};

enum class RowKind : std::uint8_t { entries, checkpoints, calls };

/// One session's rows in a backend. What cannot be read throws, for CheckRun::guard.
class StoredSession {
 public:
  virtual ~StoredSession() = default;

  /// Its commits by number, until `visit` says false.
  virtual void commits(const std::function<bool(const ReceiptFact&)>& visit) = 0;
  /// Calls back for every position of the stretch, in order. A later stretch is of later positions.
  virtual void entries(const Stretch& stretch, const EntryVisitor& visit) = 0;
  /// Those of the stretch's positions that no `pruned` row accounts for.
  [[nodiscard]] virtual std::vector<Stretch> not_pruned(const Stretch& stretch) = 0;
  /// Empty if it was pruned: a name goes without a trace.
  [[nodiscard]] virtual std::optional<CheckpointFact> checkpoint(Version version) = 0;
  /// The calls whose intents are among the commit's entries.
  virtual void calls(const ReceiptFact& commit,
                     const std::function<void(const StoredCall&)>& visit) = 0;
  /// How many rows there are, whatever the receipts say: of the session, or, entries, of its
  /// segment.
  [[nodiscard]] virtual std::uint64_t count(RowKind kind, SegmentId segment) = 0;
  /// The totals of a line, from its entries and what was pruned of it; empty if one of
  /// its entries is lost, so that they are unknown.
  [[nodiscard]] virtual std::optional<Tally> count_tally(Place place) = 0;
  /// Whether a body that names a blob names one that is there.
  [[nodiscard]] virtual bool has_blob(const Body& body) = 0;
};

// What must be true of stored values, whichever backend holds them.

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

/// The stretch without those that were pruned: [first, upto) of each, in order.
[[nodiscard]] std::vector<Stretch> without_pruned(
    const Stretch& stretch, const std::vector<std::pair<Position, Position>>& pruned);

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
