// The rules of a budget, and the fields of its entries in JSON. A change is computed beside the
// budget, and replaces it only when all of it fits, so that a refusal leaves nothing half done.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <expected>
#include <fmt/format.h>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "perdure/core/error.hpp"
#include "perdure/runtime/state.hpp"
#include "runtime/api/fields.hpp"
#include "runtime/api/records.hpp"

namespace perdure {
namespace values {

template <>
struct Shape<BudgetTotals> {
  static constexpr std::string_view name = "budget's totals";
  static void fields(auto& archive, auto& totals) {
    archive("limit", totals.limit);
    archive("spent", totals.spent);
    archive("unconfirmed", totals.unconfirmed);
    archive("reserved", totals.reserved);
    archive("granted", totals.granted);
    const std::int64_t least = std::min({totals.limit.value_or(0), totals.spent, totals.unconfirmed,
                                         totals.reserved, totals.granted});
    archive.expect(least >= 0, "totals", "numbers that are not below zero");
    // A sum that saturates fits nothing.
    archive.expect(totals.recorded() != std::numeric_limits<std::int64_t>::max(), "totals",
                   "a sum within 64 bits");
  }
};

template <>
struct Shape<BudgetEntry> {
  static constexpr std::string_view name = "budget entry";
  static void fields(auto& archive, auto& entry) {
    archive("subject", entry.subject);
    archive("micros", entry.micros);
    archive("what", entry.what);
    archive("after", entry.after);
  }
};

}  // namespace values

namespace {

constexpr std::array budget_changes = {
    std::pair{BudgetChange::limit, std::string_view("limit")},
    std::pair{BudgetChange::reserve, std::string_view("reserve")},
    std::pair{BudgetChange::spend, std::string_view("spend")},
    std::pair{BudgetChange::unconfirmed, std::string_view("unconfirmed")},
    std::pair{BudgetChange::release, std::string_view("release")},
    std::pair{BudgetChange::grant, std::string_view("grant")},
    std::pair{BudgetChange::give_back, std::string_view("return")},
};

std::unexpected<Error> not_open(std::string_view what, const std::string& subject) {
  return fail(ErrorCode::not_found, fmt::format("there is no open {} \"{}\"", what, subject),
              subject);
}

Result<std::int64_t> amount_of(const BudgetEntry& entry) {
  if (entry.micros && *entry.micros >= 0) return *entry.micros;
  return fail(ErrorCode::invalid_argument,
              fmt::format("{} needs an amount that is not below zero", to_string(entry.change)));
}

// Totals only leave here if they fit, so a difference of two of them always does.
Result<void> add(BudgetTotals& totals, std::int64_t BudgetTotals::* part, std::int64_t micros) {
  if (micros >= std::numeric_limits<std::int64_t>::max() - totals.recorded()) {
    return fail(ErrorCode::invalid_argument, "the sums of this budget would not fit 64 bits");
  }
  totals.*part += micros;
  return {};
}

// Takes a part back; where totals came from an entry, they may know of less than we do.
void take_off(std::int64_t& part, std::int64_t micros) {
  part = std::max<std::int64_t>(0, part - micros);
}

void forget(Budget& budget, BudgetTotals& totals, std::string_view id) {
  const auto open = budget.reservations.find(id);
  if (open == budget.reservations.end()) return;
  const Reservation& reservation = open->second;
  take_off(reservation.is_unconfirmed ? totals.unconfirmed : totals.reserved, reservation.micros);
}

Result<void> set_limit(Budget& budget, const BudgetEntry& entry) {
  if (entry.micros && *entry.micros < 0) {
    return fail(ErrorCode::invalid_argument, "a limit below zero");
  }
  budget.totals.limit = entry.micros;
  return {};
}

Result<void> reserve(Budget& budget, const BudgetEntry& entry) {
  const auto micros = amount_of(entry);
  if (!micros) return std::unexpected(micros.error());
  const auto open = budget.reservations.find(entry.subject);
  if (open != budget.reservations.end() && open->second.is_unconfirmed) {
    return fail(
        ErrorCode::already_exists,
        fmt::format("the reservation \"{}\" is unconfirmed: its request was made", entry.subject),
        entry.subject);
  }
  BudgetTotals totals = budget.totals;
  forget(budget, totals, entry.subject);
  auto added = add(totals, &BudgetTotals::reserved, *micros);
  if (!added) return added;
  budget.reservations.insert_or_assign(entry.subject,
                                       Reservation{.micros = *micros, .what = entry.what});
  budget.totals = totals;
  return {};
}

Result<void> spend(Budget& budget, const BudgetEntry& entry) {
  const auto micros = amount_of(entry);
  if (!micros) return std::unexpected(micros.error());
  BudgetTotals totals = budget.totals;
  forget(budget, totals, entry.subject);
  auto added = add(totals, &BudgetTotals::spent, *micros);
  if (!added) return added;
  budget.reservations.erase(entry.subject);
  budget.totals = totals;
  return {};
}

Result<void> leave_unconfirmed(Budget& budget, const BudgetEntry& entry) {
  const auto open = budget.reservations.find(entry.subject);
  if (open == budget.reservations.end() || open->second.is_unconfirmed) {
    return not_open("reservation", entry.subject);
  }
  const auto micros = entry.micros ? amount_of(entry) : open->second.micros;
  if (!micros) return std::unexpected(micros.error());
  BudgetTotals totals = budget.totals;
  forget(budget, totals, entry.subject);
  auto added = add(totals, &BudgetTotals::unconfirmed, *micros);
  if (!added) return added;
  open->second.micros = *micros;
  open->second.is_unconfirmed = true;
  budget.totals = totals;
  return {};
}

Result<void> release(Budget& budget, const BudgetEntry& entry) {
  if (!budget.reservations.contains(entry.subject)) return not_open("reservation", entry.subject);
  forget(budget, budget.totals, entry.subject);
  budget.reservations.erase(entry.subject);
  return {};
}

Result<void> grant(Budget& budget, const BudgetEntry& entry) {
  const auto micros = amount_of(entry);
  if (!micros) return std::unexpected(micros.error());
  std::int64_t held = 0;
  if (const auto open = budget.grants.find(entry.subject); open != budget.grants.end()) {
    held = open->second;
  }
  if (*micros > std::numeric_limits<std::int64_t>::max() - held) {
    return fail(ErrorCode::invalid_argument, "the sum of these grants would not fit 64 bits");
  }
  auto added = add(budget.totals, &BudgetTotals::granted, *micros);
  if (!added) return added;
  budget.grants[entry.subject] = held + *micros;
  return {};
}

// The grant ends: what did not come back was spent by the child.
Result<void> give_back(Budget& budget, const BudgetEntry& entry) {
  const auto rest = amount_of(entry);
  if (!rest) return std::unexpected(rest.error());
  const auto open = budget.grants.find(entry.subject);
  if (open == budget.grants.end()) return not_open("grant", entry.subject);
  if (*rest > open->second) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{} of a grant of {} cannot come back", *rest, open->second),
                entry.subject);
  }
  BudgetTotals totals = budget.totals;
  take_off(totals.granted, open->second);
  auto added = add(totals, &BudgetTotals::spent, open->second - *rest);
  if (!added) return added;
  budget.grants.erase(open);
  budget.totals = totals;
  return {};
}

// To the micro: what is wanted may be a little more than what is left.
std::string dollars(std::int64_t micros) {
  constexpr std::int64_t in_a_dollar = 1'000'000;
  return fmt::format("{}${}.{:06}", micros < 0 ? "-" : "", std::abs(micros / in_a_dollar),
                     std::abs(micros % in_a_dollar));
}

// What a reservation has already is its own. One that is lowered fits, even beyond the limit.
std::optional<std::int64_t> available_to(const Budget& budget, const BudgetEntry& wanted) {
  auto available = budget.available();
  const auto open = budget.reservations.find(wanted.subject);
  if (!available || wanted.change != BudgetChange::reserve || open == budget.reservations.end()) {
    return available;
  }
  BudgetTotals without = budget.totals;
  take_off(without.reserved, open->second.micros);
  return std::max(*without.available(), open->second.micros);
}

}  // namespace

std::int64_t BudgetTotals::recorded() const {
  std::int64_t sum = 0;
  for (const std::int64_t signed_part : {spent, unconfirmed, reserved, granted}) {
    const std::int64_t part = std::max<std::int64_t>(0, signed_part);
    if (part > std::numeric_limits<std::int64_t>::max() - sum) {
      return std::numeric_limits<std::int64_t>::max();
    }
    sum += part;
  }
  return sum;
}

std::optional<std::int64_t> BudgetTotals::available() const {
  if (!limit) return std::nullopt;
  return *limit > recorded() ? *limit - recorded() : 0;
}

std::string_view to_string(BudgetChange change) { return values::word_of(budget_changes, change); }
std::optional<BudgetChange> budget_change_from(std::string_view text) {
  return values::value_of(budget_changes, text);
}

std::string to_json(const BudgetEntry& entry) { return values::write(entry); }

Result<BudgetEntry> budget_entry_from_json(std::string_view kind, std::string_view text) {
  const auto change = budget_change_from(kind);
  if (!change) {
    return fail(ErrorCode::invalid_argument, fmt::format("\"{}\" changes no budget", kind));
  }
  return values::read(text, BudgetEntry{.change = *change});
}

Result<void> apply(Budget& budget, const BudgetEntry& entry) {
  switch (entry.change) {
    case BudgetChange::limit:
      return set_limit(budget, entry);
    case BudgetChange::reserve:
      return reserve(budget, entry);
    case BudgetChange::spend:
      return spend(budget, entry);
    case BudgetChange::unconfirmed:
      return leave_unconfirmed(budget, entry);
    case BudgetChange::release:
      return release(budget, entry);
    case BudgetChange::grant:
      return grant(budget, entry);
    case BudgetChange::give_back:
      return give_back(budget, entry);
  }
  return fail(ErrorCode::invalid_argument, "no change of a budget");
}

Result<BudgetEntry> enter(Budget& budget, BudgetEntry wanted) {
  const bool is_to_come =
      wanted.change == BudgetChange::reserve || wanted.change == BudgetChange::grant;
  const auto available = available_to(budget, wanted);
  if (is_to_come && available && wanted.micros.value_or(0) > *available) {
    return fail(ErrorCode::conflict,
                fmt::format("{} are wanted and {} are left of the budget: raise its limit, "
                            "or ask for less",
                            dollars(*wanted.micros), dollars(*available)),
                "budget");
  }
  auto applied = apply(budget, wanted);
  if (!applied) return forward(applied);
  wanted.after = budget.totals;
  return wanted;
}

Result<void> replay(Budget& budget, const BudgetEntry& entry) {
  auto applied = apply(budget, entry);
  if (!entry.after) return applied;
  budget.totals = *entry.after;
  budget.totals.unknown.clear();
  return {};
}

}  // namespace perdure
