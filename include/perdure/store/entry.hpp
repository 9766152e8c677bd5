// The facts a session is made of.
//
// An entry never changes. State is a fold over entries in order: per channel, an
// `append` entry adds an element, a `replace` entry makes everything before it on
// that channel irrelevant. Every position of a session names one entry: branches
// go on counting where the session stopped, so no position is used twice.

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/body.hpp"

namespace perdure {

/// A place in a session's order; the first entry has position 1, 0 is "before all".
using Position = std::uint64_t;
/// A checkpoint's number: 1, 2, 3 … per session, without gaps when made.
using Version = std::uint64_t;
/// One line of history; unique within the store.
using SegmentId = std::uint64_t;

enum class Fold : std::uint8_t { append, replace };

/// What an entry adds to the totals that people list sessions by. Only the cost
/// may be below zero: a refund.
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

  bool operator==(const NewEntry&) const = default;
};

/// Whether a stored body is what was handed in.
enum class Condition : std::uint8_t {
  intact,
  damaged,  ///< The bytes do not match their hash; `body` holds what was found.
  erased,   ///< Removed on purpose; `hash` still stands for it.
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

}  // namespace perdure
