// What a turn, a claim and a resume read and write, and that history does not add to it.

#include <cstdint>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <iostream>
#include <string>
#include <vector>

#include "counted/counted_turns.hpp"
#include "doubles/must.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"

namespace perdure {
namespace {

constexpr double claim_growth_max = 1.05;

// ---- a claim ----

struct ClaimCost {
  std::uint64_t rows = 0;
  std::uint64_t steps = 0;  ///< Also of rows that SQLite walks and does not hand out.
};

class Claim : public testing::Test {
 protected:
  /// Calls with keys, many in a response.
  void make_calls(std::size_t count) {
    constexpr std::size_t at_once = 40;
    for (std::size_t made = 0; made < count; made += at_once) {
      turns.take_turn({Calls(std::min(at_once, count - made), "look_once")});
    }
  }
  ClaimCost cost_of_one() {
    ClaimCost cost;
    cost.steps = turns.steps_of(
        [&] { cost.rows = turns.rows_of([&] { turns.take_turn({{"pay_once"}}); }); });
    return cost;
  }
  static void expect_equal(const ClaimCost& few, const ClaimCost& many) {
    std::cout << fmt::format("a turn with one claim: {} rows and {} steps, then {} and {}\n",
                             few.rows, few.steps, many.rows, many.steps);
    EXPECT_EQ(many.rows, few.rows);
    EXPECT_LE(static_cast<double>(many.steps), claim_growth_max * static_cast<double>(few.steps));
  }

  CountedTurns turns;
};

TEST_F(Claim, ReadsAsMuchAfterTwoThousandCallsOfTheSessionAsAfterTen) {
  make_calls(10);
  const ClaimCost few = cost_of_one();
  make_calls(1990);
  expect_equal(few, cost_of_one());
}

TEST_F(Claim, ReadsAsMuchAmongTwoThousandCallsOfOthersAsAmongTen) {
  make_calls(10);
  turns.begin_another();
  turns.take_turn({{"pay_once"}});
  const ClaimCost few = cost_of_one();
  turns.begin_another();
  make_calls(1990);
  turns.begin_another();
  turns.take_turn({{"pay_once"}});
  expect_equal(few, cost_of_one());
}

TEST_F(Claim, ThatIsAReplayReadsNoMoreAfterManyReplays) {
  const auto ask_again = [&] {
    must(turns.session->record_request({}, user_says("again")));
    Message response{.role = Role::assistant};
    response.blocks.emplace_back(ToolCallBlock{.id = "c", .name = "pay_once", .args = "{}"});
    must(turns.session->record_response(response));
    const CallsReport report = must(turns.session->run_calls());
    must(turns.session->record_request());
    turns.end_turn();
    return report.replayed;
  };
  EXPECT_EQ(ask_again(), 0U);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(ask_again(), 1U);
  const auto few = turns.rows_of(ask_again);
  for (int i = 0; i < 300; ++i) ask_again();
  EXPECT_EQ(turns.rows_of(ask_again), few);
}

// ---- a resume ----

class Resuming : public testing::TestWithParam<std::uint64_t> {};

TEST_P(Resuming, ReadsEachRowOnce) {
  // The session, its holder and its segments, for each page of the log and around it.
  constexpr std::uint64_t rows_around = 20;
  constexpr std::uint64_t rows_a_page = 5;
  constexpr std::uint64_t page = 512;
  CountedTurns turns;
  for (std::uint64_t turn = 0; turn < GetParam(); ++turn) turns.take_turn({{"pay"}});
  const auto entries = must(turns.counted.store().log().read(turns.session->id(), {})).size();

  RecoveryReport report;
  const auto rows = turns.rows_of([&] { report = turns.resume(); });

  std::cout << fmt::format("resume of {} turns: {} entries, {} rows read\n", GetParam(), entries,
                           rows);
  EXPECT_EQ(report.entries, entries);
  EXPECT_EQ(report.steps, 3 * GetParam());
  EXPECT_GE(rows, entries);
  EXPECT_LE(rows, entries + rows_around + rows_a_page * (entries / page));
}

INSTANTIATE_TEST_SUITE_P(Of, Resuming, testing::Values(20U, 1000U),
                         [](const auto& turns) { return fmt::format("{}_turns", turns.param); });

// ---- a turn ----

struct TurnCost {
  double rows = 0;
  double bytes = 0;
  double syncs = 0;
};

// A page that splits now and then makes single turns differ.
TurnCost cost_of_turns(CountedTurns& turns, std::uint64_t count) {
  const auto bytes = turns.counted.wal().bytes_written;
  TurnCost cost;
  cost.syncs = static_cast<double>(turns.syncs_of([&] {
    cost.rows = static_cast<double>(turns.rows_of([&] {
      for (std::uint64_t turn = 0; turn < count; ++turn) turns.take_turn({{"pay_once"}});
    }));
  }));
  cost.bytes = static_cast<double>(turns.counted.wal().bytes_written - bytes);
  const auto number = static_cast<double>(count);
  return {.rows = cost.rows / number, .bytes = cost.bytes / number, .syncs = cost.syncs / number};
}

TEST(TurnCosts, TurnAThousandCostsWhatTurnTwentyDid) {
  CountedTurns turns;
  for (int turn = 1; turn < 20; ++turn) turns.take_turn({{"pay_once"}});
  const TurnCost early = cost_of_turns(turns, 200);
  for (int turn = 220; turn < 900; ++turn) turns.take_turn({{"pay_once"}});
  const TurnCost late = cost_of_turns(turns, 200);
  std::cout << fmt::format(
      "a turn with a gated call: turns 20 to 219: {:.2f} rows, {:.0f} bytes; turns 900 to 1099: "
      "{:.2f} rows, {:.0f} bytes\n",
      early.rows, early.bytes, late.rows, late.bytes);
  EXPECT_LE(late.rows, claim_growth_max * early.rows);
  EXPECT_LE(late.bytes, claim_growth_max * early.bytes);
}

}  // namespace
}  // namespace perdure
