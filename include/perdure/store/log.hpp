// A session's log: its entries, and how to read them as they are or as they were.
//
// An entry never changes. State is a fold over entries in order: per channel, an `append` entry
// adds an element, a `replace` entry makes everything before it on that channel irrelevant.
//
// The line to a point is every entry from the first to that point, across the forks and branches
// that lead there. Positions rise along a line but may skip: what a branch left behind is not on
// it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"

namespace perdure {

/// Of a query; 0 is refused too.
inline constexpr std::size_t limit_max = 1'000'000;

enum class Codec : std::uint8_t { json, bytes, blob };

/// Names a blob by its content.
struct BlobRef {
  Digest digest{};
  std::uint64_t size = 0;
  bool operator==(const BlobRef&) const = default;
};

/// What an entry or an inbox message carries, byte for byte: `json` for text that is JSON, so that
/// a person with a database shell can read it, `bytes` for anything else, or a reference to a blob.
class Body {
 public:
  /// An empty body, codec `bytes`.
  Body() = default;

  /// Codec `json` where `text` is JSON, else `bytes`.
  [[nodiscard]] static Body from_text(std::string text);
  [[nodiscard]] static Body from_bytes(std::string bytes);
  [[nodiscard]] static Body from_blob(const BlobRef& ref);
  /// `codec()` and `bytes()` of a body as a store kept it.
  [[nodiscard]] static Body from_stored(Codec codec, std::string bytes);

  [[nodiscard]] Codec codec() const { return codec_; }
  /// Exactly what was handed in; for a blob, the text of its reference.
  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  /// The blob this body refers to; empty unless the codec is `blob`.
  [[nodiscard]] std::optional<BlobRef> blob() const;
  bool operator==(const Body&) const = default;

 private:
  Body(Codec codec, std::string bytes);

  Codec codec_ = Codec::bytes;
  std::string bytes_;
};

/// A place in a session's order; the first entry has position 1, 0 is "before all".
using Position = std::uint64_t;
/// A checkpoint's number: 1, 2, 3 … per session, without gaps when made.
using Version = std::uint64_t;
/// One line of history; unique within the store.
using SegmentId = std::uint64_t;

enum class Fold : std::uint8_t { append, replace };

/// What an entry adds to the session's totals. Only the cost may be below zero: a refund.
struct Tally {
  std::int64_t turns = 0;
  std::int64_t steps = 0;
  std::int64_t tokens_in = 0;
  std::int64_t tokens_out = 0;
  std::int64_t cost_micros = 0;  ///< Millionths of a dollar.
  bool operator==(const Tally&) const = default;
  Tally& operator+=(const Tally& other);
};

/// An entry to be committed.
struct NewEntry {
  std::string channel{};
  std::string kind{};
  Fold fold = Fold::append;
  Body body{};
  Tally tally{};
  std::optional<Timestamp> at{};  ///< When it happened; the store's own time if empty.
};

/// Whether a stored body is what was handed in.
enum class Condition : std::uint8_t {
  intact,
  damaged,  ///< The bytes do not match their hash; `body` holds what was found.
  erased,   ///< Removed on purpose; `hash` is still that of the body it had.
};

/// An entry as it was committed.
struct Entry {
  Position position = 0;
  SegmentId segment = 0;
  std::string channel{};
  std::string kind{};
  Fold fold = Fold::append;
  Body body{};
  Digest hash{};  ///< SHA-256 of the body's bytes.
  Tally tally{};
  Timestamp at{};
  Condition condition = Condition::intact;
  bool operator==(const Entry&) const = default;
};

/// A point of a session's history: its head, a version, or a position.
class Point {
 public:
  enum class Kind : std::uint8_t { head, version, position };

  /// The head of the active line.
  constexpr Point() = default;
  [[nodiscard]] static constexpr Point head() { return {}; }
  [[nodiscard]] static constexpr Point version(Version number) { return {Kind::version, number}; }
  /// Also a position on a line that a branch has left: the history up to it.
  [[nodiscard]] static constexpr Point position(Position place) { return {Kind::position, place}; }

  [[nodiscard]] constexpr Kind kind() const { return kind_; }
  /// The version or position; 0 for the head.
  [[nodiscard]] constexpr std::uint64_t number() const { return number_; }
  bool operator==(const Point&) const = default;

 private:
  constexpr Point(Kind kind, std::uint64_t number) : kind_(kind), number_(number) {}

  Kind kind_ = Kind::head;
  std::uint64_t number_ = 0;
};

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

/// Proof that a batch was committed. Its entries are at `first` … `first + count - 1`.
struct Receipt {
  BatchId batch{};
  Position first = 0;
  std::uint64_t count = 0;
  Position head = 0;
  std::optional<Version> version{};  ///< Of its checkpoint.
  Timestamp at{};
  Digest chain{};  ///< Hash over this commit and all before it in the session.
  bool operator==(const Receipt&) const = default;
};

/// Each method fails with `not_found` for a session, version or position that does not exist or was
/// pruned, and with `invalid_argument` for a bad limit.
class Log {
 public:
  virtual ~Log() = default;

  /// Entries on the line to `as_of` that the query asks for. A range without entries is not an
  /// error. A damaged or erased entry is returned as such.
  [[nodiscard]] virtual Result<std::vector<Entry>> read(const SessionId& session,
                                                        const LogQuery& query) = 0;

  /// The last `replace` entry of the channel on the line to `as_of`. None is not an error.
  [[nodiscard]] virtual Result<std::optional<Entry>> find_value(const SessionId& session,
                                                                const std::string& channel,
                                                                Point as_of) = 0;

  /// One of `checkpoints`.
  [[nodiscard]] Result<Checkpoint> read_checkpoint(const SessionId& session, Version version);

  /// Checkpoints of the session itself, newest first; not those of a fork's parent.
  [[nodiscard]] virtual Result<std::vector<Checkpoint>> checkpoints(
      const SessionId& session, const CheckpointQuery& query) = 0;
};

}  // namespace perdure
