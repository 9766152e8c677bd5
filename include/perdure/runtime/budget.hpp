// Money of a session, in millionths of a dollar, never a fraction.
//
// A request is reserved before it is made: the most that it can cost, which may be set anew until it
// is sent. Its response turns the reservation into what was spent. Where nobody knows all of that (the
// response was lost or cut off, or its provider does not tell), the rest of it is `unconfirmed`: it
// counts as spent until a later `spend` says what it cost, or a `release` says that it cost
// nothing. A child session gets a grant; what it did not spend returns with its result.
//
// What is recorded (spent + unconfirmed + reserved + granted) is never below what was
// paid. So money that was spent is recorded even beyond the limit; only what is still
// to come, a reservation or a grant, is refused there.
//
// The log has one entry for each change, kind and body, and the totals after it: where
// an entry was erased or damaged, the next one still says what is true.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "perdure/core/error.hpp"
#include "perdure/runtime/message.hpp"

namespace perdure {

/// Each is at least 0, and so is their sum within 64 bits.
struct BudgetTotals {
  std::optional<std::int64_t> limit{};  ///< Empty: none.
  std::int64_t spent = 0;
  std::int64_t unconfirmed = 0;
  std::int64_t reserved = 0;
  std::int64_t granted = 0;
  Unknown unknown{};
  bool operator==(const BudgetTotals&) const = default;

  /// spent + unconfirmed + reserved + granted; the largest number there is if they do not fit.
  [[nodiscard]] std::int64_t recorded() const;
  /// What may still be reserved or granted, 0 if the limit is reached. Empty: no limit.
  [[nodiscard]] std::optional<std::int64_t> available() const;
};

struct Reservation {
  std::int64_t micros = 0;
  std::string what{};
  bool is_unconfirmed = false;
  bool operator==(const Reservation&) const = default;
};

struct Budget {
  BudgetTotals totals{};
  std::map<std::string, Reservation, std::less<>> reservations{};  ///< Open ones, by id.
  std::map<std::string, std::int64_t, std::less<>> grants{};       ///< Open ones, by child session.
  bool operator==(const Budget&) const = default;

  [[nodiscard]] std::optional<std::int64_t> available() const { return totals.available(); }
};

/// `give_back` is written "return".
enum class BudgetChange : std::uint8_t {
  limit,
  reserve,
  spend,
  unconfirmed,
  release,
  grant,
  give_back,
};

[[nodiscard]] std::string_view to_string(BudgetChange change);
[[nodiscard]] std::optional<BudgetChange> budget_change_from(std::string_view text);

struct BudgetEntry {
  BudgetChange change = BudgetChange::spend;
  /// The reservation's id (reserve, spend, unconfirmed, release; a spend may have none), or
  /// the child session (grant, return).
  std::string subject{};
  /// limit: the limit, empty for none. reserve: all of the reservation, also of one that is open.
  /// spend: what was paid. unconfirmed: what may have been paid; empty for all that was reserved.
  /// return: what was not spent. Without meaning for release.
  std::optional<std::int64_t> micros{};
  std::string what{};                   ///< What for, or who says so and why.
  std::optional<BudgetTotals> after{};  ///< The totals once this is done.
  Unknown unknown{};
  bool operator==(const BudgetEntry&) const = default;
};

/// Does what the entry says. Does not look at the limit, nor at `after`. A spend whose
/// reservation is not there counts all the same: it was paid. The budget is unchanged if
/// this fails.
/// Fails: `invalid_argument` below zero or beyond 64 bits; `already_exists` for a
/// reservation that is unconfirmed; `not_found` for an unknown reservation or grant.
[[nodiscard]] Result<void> apply(Budget& budget, const BudgetEntry& entry);

/// For whoever writes: applies `wanted` and returns it with the totals after it.
/// Fails: as apply; `conflict`, about "budget", for a reservation or a grant beyond what is
/// available.
[[nodiscard]] Result<BudgetEntry> enter(Budget& budget, BudgetEntry wanted);

/// For whoever reads: applies what was written; its totals are right, whatever is missing
/// before it. Fails: as apply, where the entry has no totals.
[[nodiscard]] Result<void> replay(Budget& budget, const BudgetEntry& entry);

/// The change is the kind of the log's entry, and not in the JSON.
[[nodiscard]] std::string to_json(const BudgetEntry& entry);

/// Fails: `invalid_argument` for another kind, or text that is no such entry; `unsupported`
/// for a newer version.
[[nodiscard]] Result<BudgetEntry> budget_entry_from_json(std::string_view kind,
                                                         std::string_view text);

}  // namespace perdure
