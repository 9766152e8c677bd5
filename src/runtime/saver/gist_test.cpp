// Gists: what is told without the old state is what comparing with it would tell, or nothing.

#include "saver/gist.hpp"

#include <cstddef>
#include <gtest/gtest.h>
#include <optional>
#include <rapidcheck/gtest.h>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "perdure/core/error.hpp"
#include "saver/delta.hpp"

namespace perdure::saver {
namespace {

/// Text of its own for each number, with characters of more than one byte.
std::string message(int number) {
  std::string text;
  for (int i = 0; i < 40; ++i) text += std::to_string(number * 7919 + i * 31) + "\u00e4 ";
  return text;
}

std::string state(int turn, int messages, std::string_view end = "]}") {
  std::string text = R"({"turn":)" + std::to_string(turn) + R"(,"plan":")" +
                     std::string(static_cast<std::size_t>(turn % 7), 'p') + R"(","messages":[)";
  for (int i = 0; i < messages; ++i) text += message(i);
  return text + std::string(end);
}

std::size_t new_bytes(const Delta& delta) {
  std::size_t bytes = 0;
  for (const Part& part : delta.parts) {
    if (const auto* text = std::get_if<std::string>(&part)) bytes += text->size();
  }
  return bytes;
}

std::string next_of(std::string_view base, const Delta& delta) {
  Folding folding(delta.size);
  EXPECT_TRUE(folding.go_back(delta));
  return folding.finish(base).value();
}

/// A line of states as a log keeps them: the second has a gist, and later ones go on from it.
class Line {
 public:
  explicit Line(const std::vector<std::string>& states) : states_(states) {
    for (std::size_t i = 1; i < states.size(); ++i) {
      Delta delta = diff(states[i - 1], states[i]);
      if (i == 1) delta.gist = make_gist(delta, states[i], "key", 0);
      deltas_.push_back(delta_from_json(to_json(delta)).value());
    }
  }

  /// What is known of the last state without the first.
  [[nodiscard]] std::optional<KnownText> known() const {
    if (!deltas_.front().gist) return std::nullopt;
    Folding folding(states_.back().size());
    for (std::size_t i = deltas_.size() - 1; i > 0; --i) EXPECT_TRUE(folding.go_back(deltas_[i]));
    return folding.finish_by_gist(deltas_.front()).value();
  }

  [[nodiscard]] std::optional<Delta> diff_to(std::string_view next) const {
    const auto text = known();
    return text ? diff_known(*text, "key", next) : std::nullopt;
  }

 private:
  std::vector<std::string> states_;
  std::vector<Delta> deltas_;
};

TEST(Gist, TellsWhatAGrowingListAdded) {
  const Line line({state(1, 400), state(2, 404), state(3, 408), state(4, 412)});
  const std::string next = state(5, 416);
  const auto delta = line.diff_to(next);
  ASSERT_TRUE(delta);
  EXPECT_EQ(next_of(state(4, 412), *delta), next);
  EXPECT_LT(new_bytes(*delta), 5 * message(412).size());
}

TEST(Gist, TellsThatNothingChanged) {
  const Line line({state(1, 400), state(2, 404)});
  const auto delta = line.diff_to(state(2, 404));
  ASSERT_TRUE(delta);
  EXPECT_EQ(delta->parts, std::vector<Part>{(Range{0, state(2, 404).size()})});
}

TEST(Gist, TellsNothingOfAStateThatChangedInsideACore) {
  const Line line({state(1, 400), state(2, 404)});
  for (const std::size_t at : {std::size_t{20'000}, state(3, 404).size() / 2}) {
    std::string next = state(3, 404);
    next[at] = next[at] == '7' ? '8' : '7';
    EXPECT_FALSE(line.diff_to(next)) << at;
  }
}

TEST(Gist, TellsNothingOfAStateThatLostPartOfACore) {
  const Line line({state(1, 400), state(2, 404)});
  EXPECT_FALSE(line.diff_to(state(3, 200)));
  EXPECT_FALSE(line.diff_to("{}"));
  EXPECT_FALSE(line.diff_to(""));
}

TEST(Gist, TellsNothingWhereOnlyPartOfACoreWasKeptSince) {
  const Line line({state(1, 400), state(2, 404), state(3, 200)});
  EXPECT_FALSE(line.known());
}

TEST(Gist, LeavesMuchNewTextToAWholeComparison) {
  const Line line({state(1, 400), state(2, 404)});
  EXPECT_FALSE(line.diff_to(state(3, 404, std::string(100'000, 'x'))));
}

TEST(Gist, OfManyRangesIsNone) {
  std::string next = state(1, 400);
  for (std::size_t at = 1000; at < 20'000; at += 1000) next[at] = 'x';
  EXPECT_FALSE(make_gist(diff(state(1, 400), next), next, "key", 0));
}

TEST(Gist, ThatDoesNotFitIsRefused) {
  const std::string next = state(2, 404);
  Delta delta = diff(state(1, 400), next);
  delta.gist = make_gist(delta, next, "key", 0);
  ASSERT_TRUE(delta.gist);
  delta.gist->briefs.back().back.insert(0, next.size(), 'x');
  EXPECT_EQ(delta_from_json(to_json(delta)).error().code, ErrorCode::corrupted);
  delta.gist->briefs.pop_back();
  EXPECT_EQ(delta_from_json(to_json(delta)).error().code, ErrorCode::corrupted);
  for (const std::string_view gist : {"1", "{}", R"({"key":"k","cost":-1,"briefs":[]})",
                                      R"({"key":"k","cost":1,"briefs":[["a","b"]]})"}) {
    const auto read =
        delta_from_json(R"({"size":2,"parts":[[0,2]],"gist":)" + std::string(gist) + "}");
    ASSERT_FALSE(read) << gist;
    EXPECT_EQ(read.error().code, ErrorCode::corrupted) << gist;
  }
}

/// A state of blocks, each long enough for a core; edits say which block changes, goes or comes.
std::string state_of(const std::vector<int>& blocks) {
  std::string text = "{";
  for (const int block : blocks) {
    const int kind = static_cast<int>(static_cast<unsigned>(block) % 5U);
    for (int i = 0; i < 12; ++i) text += message(kind * 100 + i);
  }
  return text + "}";
}

RC_GTEST_PROP(Gist, TellsNothingWrongOfAnyStates,
              (const std::vector<int>& first, const std::vector<int>& second,
               const std::vector<int>& third, const std::vector<int>& next)) {
  const Line line({state_of(first), state_of(second), state_of(third)});
  const auto delta = line.diff_to(state_of(next));
  RC_CLASSIFY(delta.has_value(), "told");
  if (delta) RC_ASSERT(next_of(state_of(third), *delta) == state_of(next));
}

}  // namespace
}  // namespace perdure::saver
