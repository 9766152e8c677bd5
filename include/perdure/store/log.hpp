// Reading a session's history, as it is or as it was.
//
// The line to a point is every entry from the first to that point, across the
// forks and branches that lead there. Positions rise along a line but may skip:
// what a branch left behind is not on it.

#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/commit.hpp"
#include "perdure/store/entry.hpp"
#include "perdure/store/limits.hpp"
#include "perdure/store/point.hpp"

namespace perdure {

enum class Order : std::uint8_t { oldest_first, newest_first };

struct LogQuery {
  Point as_of{};  ///< The line to read.
  Position from = 1;
  Position to = std::numeric_limits<Position>::max();  ///< Inclusive.
  std::string channel{};                               ///< Empty: all.
  Order order = Order::oldest_first;
  std::size_t limit = limit_max;
};

/// A named position.
struct Checkpoint {
  Version version = 0;
  Position position = 0;
  Timestamp at{};
  std::string reason{};
  std::string label{};
  std::string metadata = "{}";
  Tally tally{};  ///< Totals as of this version.

  bool operator==(const Checkpoint&) const = default;
};

struct CheckpointQuery {
  std::optional<Version> before{};  ///< Only versions below it.
  std::string label{};              ///< Empty: any.
  /// Members the metadata must have, each equal as a JSON value (1 and 1.0 are equal).
  std::vector<std::pair<std::string, Json>> metadata{};
  std::size_t limit = 100;
};

/// One line of history. The root of a session has no parent.
struct Segment {
  SegmentId id = 0;
  SessionId session{};  ///< Empty if that session was removed.
  Position first = 0;   ///< The position its first entry has or will get.
  std::optional<SegmentId> parent{};
  Position parent_position = 0;  ///< Where it leaves the parent.

  bool operator==(const Segment&) const = default;
};

class Log {
 public:
  virtual ~Log() = default;

  /// Entries on the line to `as_of` that the query asks for. A range without
  /// entries is not an error. A damaged or erased entry is returned as such, and
  /// does not hide its neighbours.
  /// Fails: `not_found` for a session, version or position that does not exist, or was
  /// pruned; `invalid_argument` for a bad limit.
  [[nodiscard]] virtual Result<std::vector<Entry>> read(const SessionId& session,
                                                        const LogQuery& query) = 0;

  /// The last `replace` entry of the channel on the line to `as_of`: the value
  /// of a value channel, found without reading the entries before it.
  /// Fails: `not_found` as for `read`; a channel without a value is not an error.
  [[nodiscard]] virtual Result<std::optional<Entry>> find_value(const SessionId& session,
                                                                const std::string& channel,
                                                                Point as_of) = 0;

  /// One of `checkpoints`. Fails: `not_found`.
  [[nodiscard]] Result<Checkpoint> read_checkpoint(const SessionId& session, Version version);

  /// Checkpoints of the session itself, newest first; not those of the session
  /// it was forked from.
  /// Fails: `not_found` for the session; `invalid_argument` for a bad limit.
  [[nodiscard]] virtual Result<std::vector<Checkpoint>> checkpoints(
      const SessionId& session, const CheckpointQuery& query) = 0;

  /// The segments the line to `as_of` runs through, oldest first.
  /// Fails: `not_found`.
  [[nodiscard]] virtual Result<std::vector<Segment>> line(const SessionId& session,
                                                          Point as_of) = 0;

  /// The receipt of a batch that was committed to the session. To rest on a commit
  /// whose answer was lost, repeat the batch instead: that also syncs it.
  /// Fails: `not_found` for the session.
  [[nodiscard]] virtual Result<std::optional<Receipt>> find_receipt(const SessionId& session,
                                                                    const BatchId& batch) = 0;
};

}  // namespace perdure
