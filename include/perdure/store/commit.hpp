// A commit: everything one step changes, in one atomic batch.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/ownership.hpp"
#include "perdure/store/sessions.hpp"

namespace perdure {

/// Names the head that the batch leaves behind; its version is the next number.
struct NewCheckpoint {
  std::string reason{};
  std::string label{};
  std::string metadata = "{}";  ///< A JSON object.

  bool operator==(const NewCheckpoint&) const = default;
};

struct StatusChange {
  Status status = Status::active;
  std::string wait_reason{};
  std::optional<Timestamp> wake_at{};

  bool operator==(const StatusChange&) const = default;
};

enum class Sync : std::uint8_t {
  now,  ///< On disk when commit returns.
  /// Survives the process at once, the machine from the next sync on. A batch that
  /// intends or dispatches a call is synced now all the same.
  later,
};

/// What a finished commit survives.
enum class Durability : std::uint8_t {
  full,     ///< The death of the process and of the machine.
  process,  ///< The death of the process.
};

struct Batch {
  BatchId id{};
  Position expected_head = 0;
  /// Goes on from this point of the session instead of its head: opens a new
  /// line there, which becomes the active one and takes the entries.
  std::optional<Point> branch_from{};
  std::vector<NewEntry> entries{};
  std::vector<CallChange> calls{};  ///< Applied in order, after the entries.
  std::optional<NewCheckpoint> checkpoint{};
  std::optional<StatusChange> status{};
  std::optional<Annotation> annotation{};
  std::vector<MessageId> consumed{};
  std::vector<NewSession> children{};  ///< They see the batch applied.
  Sync sync = Sync::now;

  bool operator==(const Batch&) const = default;
};

/// A session that was created with its first batch, and is owned by whoever did.
struct Created {
  Lease lease{};
  Receipt receipt{};

  bool operator==(const Created&) const = default;
};

}  // namespace perdure
