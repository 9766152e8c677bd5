// Budgets: what is recorded, what is refused, what a reader makes of a log with holes, JSON.

#include <cstddef>
#include <cstdint>
#include <gtest/gtest.h>
#include <limits>
#include <optional>
#include <rapidcheck/gtest.h>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/runtime/state.hpp"
#include "runtime/api/records.hpp"
#include "values/codec_fixture.hpp"

namespace perdure {
namespace {

using enum BudgetChange;
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

BudgetEntry change(BudgetChange kind, std::string subject,
                   std::optional<std::int64_t> micros = std::nullopt) {
  return {.change = kind, .subject = std::move(subject), .micros = micros};
}

Budget after(const std::vector<BudgetEntry>& entries) {
  Budget budget;
  for (const BudgetEntry& entry : entries) EXPECT_TRUE(apply(budget, entry));
  return budget;
}

TEST(Budget, ASpendTakesThePlaceOfItsReservation) {
  const Budget budget =
      after({change(limit, "", 100), change(reserve, "r1", 30), change(spend, "r1", 12)});
  EXPECT_EQ(budget.totals, (BudgetTotals{.limit = 100, .spent = 12}));
  EXPECT_TRUE(budget.reservations.empty());
  EXPECT_EQ(budget.available(), 88);
}

TEST(Budget, ALostResponseCountsUntilItIsKnown) {
  const Budget lost =
      after({change(limit, "", 100), change(reserve, "r1", 30), change(unconfirmed, "r1")});
  EXPECT_EQ(lost.totals.unconfirmed, 30);
  EXPECT_EQ(lost.totals.reserved, 0);
  EXPECT_EQ(lost.available(), 70);
  EXPECT_TRUE(lost.reservations.at("r1").is_unconfirmed);

  Budget confirmed = lost;
  ASSERT_TRUE(apply(confirmed, change(spend, "r1", 25)));
  EXPECT_EQ(confirmed.totals, (BudgetTotals{.limit = 100, .spent = 25}));
  Budget released = lost;
  ASSERT_TRUE(apply(released, change(release, "r1")));
  EXPECT_EQ(released.totals, (BudgetTotals{.limit = 100}));
  EXPECT_TRUE(released.reservations.empty());
}

TEST(Budget, AReservationMayBeSetAnewUntilItIsUnconfirmed) {
  Budget budget = after({change(limit, "", 100), change(spend, "", 20), change(reserve, "r", 60)});
  ASSERT_TRUE(enter(budget, change(reserve, "r", 30)));
  EXPECT_EQ(budget.totals, (BudgetTotals{.limit = 100, .spent = 20, .reserved = 30}));
  ASSERT_TRUE(enter(budget, change(reserve, "r", 80)));
  EXPECT_EQ(enter(budget, change(reserve, "r", 81)).error().subject, "budget");

  ASSERT_TRUE(enter(budget, change(limit, "", 50)));
  ASSERT_TRUE(enter(budget, change(reserve, "r", 70))) << "less is never refused";
  EXPECT_EQ(budget.totals.recorded(), 90);
  EXPECT_EQ(budget.reservations.at("r").micros, 70);
}

TEST(Budget, OfALostResponseSoMuchIsUnconfirmedAsIsSaid) {
  const Budget less = after({change(reserve, "r", 30), change(unconfirmed, "r", 10)});
  EXPECT_EQ(less.totals, (BudgetTotals{.unconfirmed = 10}));
  const Budget more = after({change(reserve, "r", 30), change(unconfirmed, "r", 40)});
  EXPECT_EQ(more.totals, (BudgetTotals{.unconfirmed = 40}));
  Budget known = more;
  ASSERT_TRUE(apply(known, change(spend, "r", 25)));
  EXPECT_EQ(known.totals, (BudgetTotals{.spent = 25}));
}

TEST(Budget, AGrantIsSpentButForWhatReturns) {
  Budget budget = after({change(limit, "", 100), change(grant, "ses_c", 40)});
  EXPECT_EQ(budget.available(), 60);
  ASSERT_FALSE(apply(budget, change(give_back, "ses_c", 41)));
  ASSERT_TRUE(apply(budget, change(give_back, "ses_c", 15)));
  EXPECT_EQ(budget.totals, (BudgetTotals{.limit = 100, .spent = 25}));
  EXPECT_TRUE(budget.grants.empty());
}

TEST(Budget, WithoutALimitHasNoEnd) {
  Budget budget = after({change(limit, "", 5), change(limit, "")});
  EXPECT_FALSE(budget.available());
  EXPECT_TRUE(enter(budget, change(reserve, "r", 1'000'000)));
}

TEST(Budget, RefusesToPromiseMoreThanThereIs) {
  Budget budget = after({change(limit, "", 100), change(spend, "", 60)});
  for (const BudgetChange kind : {reserve, grant}) {
    const auto refused = enter(budget, change(kind, "x", 41));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::conflict);
    EXPECT_EQ(refused.error().subject, "budget");
    EXPECT_TRUE(refused.error().message.starts_with("$0.000041 are wanted and $0.000040 are left"))
        << refused.error().message;
  }
  EXPECT_EQ(enter(budget, change(reserve, "x", 40)).value().after,
            (BudgetTotals{.limit = 100, .spent = 60, .reserved = 40}));
}

TEST(Budget, RecordsWhatWasPaidBeyondTheLimitToo) {
  Budget budget = after({change(limit, "", 10), change(reserve, "r", 10)});
  ASSERT_TRUE(enter(budget, change(spend, "r", 25)));
  ASSERT_TRUE(enter(budget, change(spend, "never reserved", 5)));
  EXPECT_EQ(budget.totals.spent, 30);
  EXPECT_EQ(budget.available(), 0);
}

TEST(Budget, RefusesWhatCannotBeAndStaysAsItWas) {
  const Budget before = after({change(reserve, "r", 5), change(grant, "c", 5),
                               change(reserve, "u", 1), change(unconfirmed, "u")});
  for (const BudgetEntry& entry :
       {change(reserve, "r", -1), change(reserve, "u", 1), change(reserve, "n", -1),
        change(reserve, "n"), change(spend, "r", -1), change(spend, "r", most),
        change(spend, "", most), change(reserve, "n", most), change(grant, "c", most),
        change(unconfirmed, "n"), change(unconfirmed, "u"), change(unconfirmed, "r", -1),
        change(unconfirmed, "r", most), change(reserve, "r", most), change(release, "n"),
        change(give_back, "n", 0), change(give_back, "c", -1), change(limit, "", -1)}) {
    Budget budget = before;
    EXPECT_FALSE(apply(budget, entry)) << to_json(entry);
    EXPECT_EQ(budget, before);
    EXPECT_FALSE(enter(budget, entry));
    EXPECT_EQ(budget, before);
  }
}

TEST(Budget, TotalsOfAnEntryMendWhatIsMissingBeforeIt) {
  Budget writer;
  std::vector<BudgetEntry> log;
  for (const BudgetEntry& wanted :
       {change(limit, "", 100), change(reserve, "r1", 30), change(spend, "r1", 12),
        change(reserve, "r2", 7), change(unconfirmed, "r2"), change(release, "r2"),
        change(spend, "", 1)}) {
    log.push_back(enter(writer, wanted).value());
  }
  for (std::size_t missing = 0; missing + 1 < log.size(); ++missing) {
    Budget reader;
    for (std::size_t i = 0; i < log.size(); ++i) {
      if (i == missing) continue;
      EXPECT_TRUE(replay(reader, log[i]));
    }
    EXPECT_EQ(reader.totals, writer.totals) << "without entry " << missing;
  }
}

TEST(Budget, SumsSaturate) {
  const BudgetTotals huge{.limit = most, .spent = most, .unconfirmed = most, .reserved = most};
  EXPECT_EQ(huge.recorded(), most);
  EXPECT_EQ(huge.available(), 0);
}

TEST(BudgetEntry, HasItsShape) {
  Budget budget = after({change(limit, "", 9)});
  BudgetEntry entry = enter(budget, change(reserve, "r1", 5)).value();
  entry.what = "m-1";
  EXPECT_EQ(to_json(entry),
            R"({"subject":"r1","micros":5,"what":"m-1","after":{"limit":9,"spent":0,)"
            R"("unconfirmed":0,"reserved":5,"granted":0}})");
}

TEST(BudgetEntry, RefusesWhatIsNone) {
  for (const std::string_view text :
       {"", "[]", R"({"micros":1.5})", R"({"micros":"1"})", R"({"after":[]})",
        R"({"after":{"spent":-1}})", R"({"after":{"limit":-1}})",
        R"({"after":{"spent":9223372036854775807,"reserved":1}})"}) {
    const auto entry = budget_entry_from_json("spend", text);
    ASSERT_FALSE(entry) << text;
    EXPECT_EQ(entry.error().code, ErrorCode::invalid_argument) << text;
  }
  EXPECT_FALSE(budget_entry_from_json("give_back", "{}"));
}

rc::Gen<BudgetEntry> any_change() {
  return rc::gen::exec([]() -> BudgetEntry {
    const auto kind =
        *rc::gen::element(limit, reserve, spend, unconfirmed, release, grant, give_back);
    const auto subject = *rc::gen::element<std::string>("", "a", "b", "c");
    const auto micros = *rc::gen::oneOf(rc::gen::inRange<std::int64_t>(-2, 100),
                                        rc::gen::element(most - 50, most - 0));
    return change(kind, subject, micros);
  });
}

// Whatever is done: sums are those of the parts, nothing is below zero or beyond 64 bits,
// and nothing that was paid is forgotten.
RC_GTEST_PROP(BudgetProperty, RecordsAtLeastWhatWasPaid, ()) {
  Budget budget;
  Budget reader;
  std::int64_t paid = 0;  // Never above what is recorded, so it fits.
  for (const BudgetEntry& wanted : *rc::gen::container<std::vector<BudgetEntry>>(any_change())) {
    const auto entry = enter(budget, wanted);
    if (!entry) continue;
    RC_ASSERT(replay(reader, *entry).has_value());
    RC_ASSERT(reader == budget);
    if (wanted.change == spend) paid += *wanted.micros;
    BudgetTotals sums{.limit = budget.totals.limit, .spent = budget.totals.spent};
    for (const auto& [id, open] : budget.reservations) {
      (open.is_unconfirmed ? sums.unconfirmed : sums.reserved) += open.micros;
    }
    for (const auto& [child, micros] : budget.grants) sums.granted += micros;
    RC_ASSERT(sums == budget.totals);
    RC_ASSERT(budget.totals.recorded() < most);
    RC_ASSERT(budget.totals.recorded() >= paid);
    RC_ASSERT(budget.available().value_or(0) >= 0);
  }
}

RC_GTEST_PROP(BudgetProperty, EntriesComeBackWithAnyBytes,
              (const std::string& a, const std::string& b)) {
  BudgetEntry entry = *any_change();
  entry.subject = a;
  entry.what = b;
  entry.unknown = *values::any_unknown();
  if (*rc::gen::arbitrary<bool>()) {
    entry.after = BudgetTotals{.limit = 3, .spent = 9, .unknown = *values::any_unknown()};
  }
  values::check_codec(entry, [&](std::string_view json) {
    return budget_entry_from_json(to_string(entry.change), json);
  });
}

}  // namespace
}  // namespace perdure
