// Changes of a text: folding gives back every byte, and what is written is what changed.

#include <cstddef>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "saver/thread_log.hpp"

namespace perdure::saver {
namespace {

std::string message(int number) {
  return R"({"id":)" + std::to_string(number) + R"(,"role":"user","text":")" +
         std::string(200, static_cast<char>('a' + number % 26)) + std::to_string(number * 7919) +
         R"("})";
}

std::string messages(int from, int to) {
  std::string text = R"({"turn":)" + std::to_string(to) + R"(,"deep":{"messages":[)";
  for (int i = from; i < to; ++i) text += (i == from ? "" : ", ") + message(i);
  return text + R"(]},"end":)" + std::to_string(from) + "}";
}

std::size_t written(std::string_view base, std::string_view next) {
  return to_json(diff(base, next)).size();
}

Result<std::string> fold(std::string_view base, const std::vector<Delta>& deltas) {
  if (deltas.empty()) return std::string(base);
  Folding folding(deltas.back().size);
  for (auto delta = deltas.rbegin(); delta != deltas.rend(); ++delta) {
    if (auto gone = folding.go_back(*delta); !gone) return forward(gone);
  }
  return folding.finish(base);
}

std::string round_trip(std::string_view base, std::string_view next) {
  const auto delta = delta_from_json(to_json(diff(base, next)));
  return fold(base, {delta.value()}).value();
}

TEST(Delta, OfAListThatGrewIsItsNewElements) {
  const std::string base = messages(0, 4000);
  const std::string next = messages(0, 4004);
  EXPECT_EQ(round_trip(base, next), next);
  EXPECT_LT(written(base, next), 1.2 * 4 * static_cast<double>(message(4000).size()) + 200);
}

TEST(Delta, OfAWindowThatSlidIsItsNewElements) {
  const std::string base = messages(100, 400);
  const std::string next = messages(104, 404);
  EXPECT_EQ(round_trip(base, next), next);
  EXPECT_LT(written(base, next), 1.2 * 4 * static_cast<double>(message(400).size()) + 200);
}

TEST(Delta, OfAWindowThatSlidFarIsItsNewElements) {
  const std::string base = messages(0, 2000);
  const std::string next = messages(1000, 2004);
  EXPECT_EQ(round_trip(base, next), next);
  EXPECT_LT(written(base, next), 1.2 * 4 * static_cast<double>(message(2000).size()) + 200);
}

TEST(Delta, OfElementsThatCameAndWentInTheMiddleIsThose) {
  const std::string base = messages(0, 300);
  std::string next = base;
  next.insert(next.find(message(200)), message(9000) + ", ");
  next.erase(next.find(message(100)), message(100).size() + 2);
  next.replace(next.find(message(250)), message(250).size(), message(9001));
  EXPECT_EQ(round_trip(base, next), next);
  EXPECT_LT(written(base, next), 3 * message(9000).size());
}

TEST(Delta, OfAStringThatGrewIsItsEnd) {
  const std::string long_text = messages(0, 100);
  const std::string base = Json(Json::Object{{"document", long_text}}).text();
  const std::string next = Json(Json::Object{{"document", long_text + "more"}}).text();
  EXPECT_EQ(round_trip(base, next), next);
  EXPECT_LT(written(base, next), 100U);
}

TEST(Delta, CutsBetweenCharactersOnly) {
  // The same first byte of two, three and four, and a different last one.
  for (const auto& [one, other] : {std::pair("\u00e4", "\u00e5"), std::pair("\u4e00", "\u4e01"),
                                   std::pair("\U0001f600", "\U0001f601")}) {
    const std::string base = std::string(100, 'x') + one + std::string(100, 'y');
    const std::string next = std::string(100, 'x') + other + std::string(100, 'y');
    EXPECT_EQ(round_trip(base, next), next);
  }
}

TEST(Delta, OfEqualTextsIsOneRange) {
  const std::string text = messages(0, 10);
  EXPECT_EQ(diff(text, text).parts, std::vector<Part>{(Range{0, text.size()})});
}

TEST(Delta, ThatDoesNotFitIsRefused) {
  const std::string base(100, 'x');
  for (const std::string_view text :
       {"", "[]", "{}", R"({"size":1})", R"({"size":1,"parts":{}})", R"({"size":1,"parts":[1]})",
        R"({"size":1,"parts":[[1]]})", R"({"size":1,"parts":[[1,-1]]})",
        R"({"size":1,"parts":[[0,2]]})", R"({"size":101,"parts":[[0,101]]})",
        R"({"size":10,"parts":[[95,10]]})", R"({"size":3,"parts":["ab"]})",
        R"({"size":9007199254740993,"parts":[[0,9007199254740993]]})",
        R"({"size":2,"parts":[[18446744073709551615,2]]})"}) {
    const auto delta = delta_from_json(text);
    const auto made = delta ? fold(base, {*delta}) : std::unexpected(delta.error());
    ASSERT_FALSE(made) << text;
    EXPECT_EQ(made.error().code, ErrorCode::corrupted) << text;
  }
}

TEST(Delta, OfANewerVersionIsNotGuessedAt) {
  const auto delta = delta_from_json(R"({"v":2,"size":0,"parts":[]})");
  ASSERT_FALSE(delta);
  EXPECT_EQ(delta.error().code, ErrorCode::unsupported);
}

/// A text of words from a small pool, so that two texts have much in common.
std::string text_of(const std::vector<int>& words) {
  std::string text;
  for (const int word : words) {
    const auto kind = static_cast<unsigned>(word) % 12;
    text += kind < 8 ? message(static_cast<int>(kind)) : kind < 10 ? "\U0001f600\u00e4" : "x";
  }
  return text;
}

RC_GTEST_PROP(Delta, GivesBackEveryByteOverAnyNumberOfChanges,
              (const std::vector<std::vector<int>>& versions)) {
  const std::string base = versions.empty() ? "" : text_of(versions.front());
  std::vector<Delta> deltas;
  std::string last = base;
  for (const auto& words : versions) {
    const std::string next = text_of(words);
    const auto delta = delta_from_json(to_json(diff(last, next)));
    RC_ASSERT(delta.has_value());
    deltas.push_back(*delta);
    RC_ASSERT(fold(base, deltas).value() == next);
    last = next;
  }
}

RC_GTEST_PROP(Delta, OfAnyTwoTextsOfFewLettersGivesBackTheSecond,
              (const std::vector<bool>& base_bits, const std::vector<bool>& next_bits)) {
  const auto text = [](const std::vector<bool>& bits) {
    std::string made;
    for (const bool bit : bits) made += bit ? std::string(40, 'a') : "b";
    return made;
  };
  RC_ASSERT(round_trip(text(base_bits), text(next_bits)) == text(next_bits));
}

}  // namespace
}  // namespace perdure::saver
