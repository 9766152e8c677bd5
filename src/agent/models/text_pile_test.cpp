// Against a plain text that is grown and cut alike.

#include <cstddef>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <string>
#include <string_view>
#include <vector>

#include "models/body.hpp"

namespace perdure {
namespace {

std::string joined(const TextPile& pile, std::size_t begin, std::size_t end) {
  std::vector<std::string_view> views;
  pile.list(begin, end, views);
  std::string text;
  for (const std::string_view view : views) text += view;
  return text;
}

std::string letters(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += static_cast<char>('a' + i % 26);
  return text;
}

RC_GTEST_PROP(TextPiles, AreTheTextThatWasGrownAndCutAlike, ()) {
  TextPile pile;
  std::string text;
  const auto steps = *rc::gen::inRange(1, 20);
  for (int i = 0; i < steps; ++i) {
    const std::string piece = letters(*rc::gen::inRange<std::size_t>(0, 90'000));
    pile.append(piece);
    text += piece;
    if (*rc::gen::inRange(0, 3) == 0) {
      text.resize(*rc::gen::inRange<std::size_t>(0, text.size() + 1));
      pile.cut(text.size());
    }
    RC_ASSERT(pile.size() == text.size());
  }
  const auto begin = *rc::gen::inRange<std::size_t>(0, text.size() + 1);
  const auto end = *rc::gen::inRange<std::size_t>(begin, text.size() + 1);
  RC_ASSERT(joined(pile, begin, end) == text.substr(begin, end - begin));
  RC_ASSERT(joined(pile, 0, text.size()) == text);
}

TEST(TextPiles, DoNotMoveWhatWasWritten) {
  TextPile pile;
  pile.append("first");
  std::vector<std::string_view> before;
  pile.list(0, 5, before);
  pile.append(letters(1'000'000));
  std::vector<std::string_view> after;
  pile.list(0, 5, after);
  EXPECT_EQ(before.front().data(), after.front().data());
}

}  // namespace
}  // namespace perdure
