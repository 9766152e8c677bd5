// Entries of a budget, to JSON and back.

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "perdure/core/error.hpp"
#include "perdure/core/raw_json.hpp"
#include "perdure/runtime/budget.hpp"
#include "runtime/api/fields.hpp"

namespace perdure {
namespace {

using values::Fields;

void add_amount(ObjectWriter& writer, std::string_view key, std::optional<std::int64_t> micros) {
  if (micros) writer.add(key, *micros);
}

std::string totals_to_json(const BudgetTotals& totals) {
  ObjectWriter writer;
  add_amount(writer, "limit", totals.limit);
  writer.add("spent", totals.spent);
  writer.add("unconfirmed", totals.unconfirmed);
  writer.add("reserved", totals.reserved);
  writer.add("granted", totals.granted);
  values::add_unknown(writer, totals.unknown);
  return writer.finish();
}

Result<BudgetTotals> totals_from_json(std::string_view text) {
  return values::read_value<BudgetTotals>(
      text, "budget's totals", [](Fields& fields, BudgetTotals& totals) {
        fields.take("limit", totals.limit);
        fields.take("spent", totals.spent);
        fields.take("unconfirmed", totals.unconfirmed);
        fields.take("reserved", totals.reserved);
        fields.take("granted", totals.granted);
        const std::int64_t least = std::min({totals.limit.value_or(0), totals.spent,
                                             totals.unconfirmed, totals.reserved, totals.granted});
        if (least < 0) fields.refuse("totals", "numbers that are not below zero");
        // A sum that saturates fits nothing.
        if (totals.recorded() == std::numeric_limits<std::int64_t>::max()) {
          fields.refuse("totals", "a sum within 64 bits");
        }
      });
}

void take_totals(Fields& fields, std::optional<BudgetTotals>& out) {
  fields.take_part("after", [&](std::string_view text) -> Result<void> {
    auto totals = totals_from_json(text);
    if (!totals) return forward(totals);
    out = *std::move(totals);
    return {};
  });
}

}  // namespace

std::string to_json(const BudgetEntry& entry) {
  ObjectWriter writer;
  values::add_bytes(writer, "subject", entry.subject);
  add_amount(writer, "micros", entry.micros);
  values::add_bytes(writer, "what", entry.what);
  if (entry.after) writer.add_raw("after", totals_to_json(*entry.after));
  values::add_unknown(writer, entry.unknown);
  return writer.finish();
}

Result<BudgetEntry> budget_entry_from_json(std::string_view kind, std::string_view text) {
  const auto change = budget_change_from(kind);
  if (!change) {
    return fail(ErrorCode::invalid_argument, fmt::format("\"{}\" changes no budget", kind));
  }
  return values::read_value<BudgetEntry>(text, "budget entry",
                                         [&](Fields& fields, BudgetEntry& entry) {
                                           entry.change = *change;
                                           fields.take_bytes("subject", entry.subject);
                                           fields.take("micros", entry.micros);
                                           fields.take_bytes("what", entry.what);
                                           take_totals(fields, entry.after);
                                         });
}

}  // namespace perdure
