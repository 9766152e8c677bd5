// What a check of a store found.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/core/id.hpp"
#include "perdure/store/entry.hpp"

namespace perdure {

/// The kind of fact that does not hold.
enum class Fault : std::uint8_t {
  file,       ///< The file itself: sums of pages, trees, indexes.
  chain,      ///< The hash chain over commits, or a body's hash.
  order,      ///< Positions or versions that are missing, doubled or out of order.
  reference,  ///< Something named that is not there: a segment, an entry, a blob.
  ledger,     ///< A call that the log does not bear out.
  summary,    ///< A summary row that the log does not bear out.
};

[[nodiscard]] std::string_view to_string(Fault fault);

struct Damage {
  Fault fault = Fault::file;
  std::optional<SessionId> session{};  ///< Empty: the store as a whole.
  Position first = 0;                  ///< Of the positions concerned; 0 if none are.
  Position last = 0;
  std::string what{};  ///< A sentence for a person: what, where, how much.

  bool operator==(const Damage&) const = default;
};

struct CheckReport {
  std::uint64_t sessions = 0;
  std::uint64_t commits = 0;
  std::uint64_t entries = 0;
  std::uint64_t calls = 0;
  std::uint64_t blobs = 0;
  std::uint64_t bytes = 0;  ///< Of bodies and blobs that were hashed.
  /// The first `damage_max` that were found, by session, then by position.
  std::vector<Damage> damage{};
  std::uint64_t found = 0;  ///< All findings, also those not listed.
  bool is_complete = true;  ///< False if it was told to stop.

  [[nodiscard]] bool is_sound() const { return found == 0 && is_complete; }
};

}  // namespace perdure
