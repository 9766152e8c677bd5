// No byte of a store acts on a terminal.

#include "core/api/text.hpp"

#include <gtest/gtest.h>
#include <string>

#include "perdure/core/json.hpp"
#include "screen/display.hpp"
#include "screen/text.hpp"

namespace perdure::cli {
namespace {

TEST(Visible, ControlCharactersAreWrittenOut) {
  EXPECT_EQ(visible("\x1b[2J"), "\\x1b[2J");
  EXPECT_EQ(visible("a\x07\x7f"
                    "b"),
            "a\\x07\\x7fb");
  EXPECT_EQ(visible("\xc2\x9b"
                    "31m"),
            "\\x9b31m");  // The C1 form of ESC [.
  EXPECT_EQ(visible("a\r\nb"), "a\\x0d b");
}

TEST(Visible, WhatTurnsTextRoundIsWrittenOut) {
  EXPECT_EQ(visible("a\u202e"
                    "b\u2066"),
            "a\\u202eb\\u2066");
}

TEST(Visible, WhatCannotBeSeenIsWrittenOut) {
  EXPECT_EQ(visible("pay\u200b Ann\u00ad\u061c\ufeff\u2060"),
            "pay\\u200b Ann\\u00ad\\u061c\\ufeff\\u2060");
  EXPECT_EQ(visible("\U000e0041\U000e0100\u3164\ufe0f"), "\\U000e0041\\U000e0100\\u3164\\ufe0f");
  EXPECT_EQ(visible("a\u200d\u200c", Lines::many), "a\\u200d\\u200c");
}

TEST(Visible, ProseKeepsTheJoinersThatItNeeds) {
  const std::string family = "\U0001f469\u200d\U0001f4bb";
  const std::string heart = "\u2764\ufe0f\u200d\U0001f525";
  const std::string persian = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645";
  const std::string hindi = "\u0915\u094d\u200d\u0937";
  for (const std::string& text : {family, heart, persian, hindi}) {
    EXPECT_EQ(visible(text, Lines::prose), text);
    EXPECT_NE(visible(text), text);
  }
  // A piece of a stream may begin or end with one.
  EXPECT_EQ(visible("\u0645\u200c", Lines::prose), "\u0645\u200c");
  EXPECT_EQ(visible("\u200d\U0001f4bb", Lines::prose), "\u200d\U0001f4bb");
}

TEST(Visible, ProseKeepsNothingElseThatHides) {
  EXPECT_EQ(visible("pay\u200dpal \u200c", Lines::prose), "pay\\u200dpal \\u200c");
  EXPECT_EQ(visible("a\ufe0f\u202e\u200b\U000e0041", Lines::prose),
            "a\\ufe0f\\u202e\\u200b\\U000e0041");
  EXPECT_EQ(visible("\u0645\u200c\u200c\u062e", Lines::prose), "\u0645\\u200c\\u200c\u062e");
}

TEST(Visible, ASelectorShapesAnEmojiOrAKeyAndNothingElse) {
  EXPECT_EQ(visible("7\ufe0f\u20e3", Lines::prose), "7\ufe0f\u20e3");
  for (const std::string before : {"100", "$", "-", "(", "\u3042", "\u203f"})
    EXPECT_EQ(visible(before + "\ufe0f0", Lines::prose), before + "\\ufe0f0") << before;
}

TEST(Visible, NothingInvisibleIsLeftInANameOrAnArgument) {
  for (const char* const hidden :
       {"\u00ad", "\u034f",    "\u061c", "\u115f", "\u180b",     "\u180e",     "\u200b",
        "\u200c", "\u200d",    "\u200e", "\u200f", "\u2028",     "\u2029",     "\u202a",
        "\u202b", "\u202c",    "\u202d", "\u202e", "\u2060",     "\u2061",     "\u2064",
        "\u2066", "\u2067",    "\u2068", "\u2069", "\u206f",     "\u3164",     "\ufe00",
        "\ufe0f", "\ufeff",    "\uffa0", "\ufff9", "\U000e0001", "\U000e007f", "\U000e01ef",
        "\u2800", "\U0001d159"}) {
    for (const Lines lines : {Lines::one, Lines::many, Lines::prose}) {
      const std::string made = visible(std::string("a") + hidden + "b", lines);
      EXPECT_FALSE(made.contains(hidden)) << made;
    }
    EXPECT_FALSE(json_visible(hidden).contains(hidden));
  }
}

TEST(Visible, BytesThatAreNoTextAreWrittenOut) {
  EXPECT_EQ(visible("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(visible("\xed\xa0\xbd"), "\\xed\\xa0\\xbd");
}

TEST(Visible, LinesStayWhereTheyAreWanted) {
  EXPECT_EQ(visible("a\n\tb", Lines::many), "a\n\tb");
  EXPECT_EQ(visible("a\n\tb"), "a  b");
}

TEST(Visible, NoByteBelowABlankIsLeftWhateverComes) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) {
    all += static_cast<char>(byte);
    all += "\xc2";
    all += static_cast<char>(byte);
  }
  const std::string made = visible(all);
  EXPECT_TRUE(is_utf8(made));
  for (const char letter : made) EXPECT_GE(static_cast<unsigned char>(letter), 0x20);
  EXPECT_FALSE(made.contains("\xc2\x9b"));
}

TEST(Visible, JsonMeansTheSame) {
  const Json value = Json::Object{{"a\u202e", "\xc2\x9b\x1b\u200d\U000e0041"}};
  const std::string made = json_visible(value.text());
  EXPECT_EQ(parse_json(made).value(), value);
  EXPECT_TRUE(made.contains("\\u200d\\udb40\\udc41")) << made;
  for (const char letter : made) EXPECT_LT(static_cast<unsigned char>(letter), 0x80);
}

TEST(Width, CountsColumnsNotBytes) {
  EXPECT_EQ(width_of("aé…"), 3U);
  EXPECT_EQ(width_of("漢字"), 4U);
  EXPECT_EQ(width_of("e\u0301"), 1U);
}

TEST(Width, ClippedTextFits) {
  EXPECT_EQ(clipped("abcdef", 4), "abc…");
  EXPECT_EQ(clipped("漢字漢字", 4), "漢…");
  EXPECT_EQ(clipped("abc", 3), "abc");
  EXPECT_EQ(clipped("abc", 0), "");
}

TEST(ShellWord, IsQuotedIfNeedBe) {
  EXPECT_EQ(shell_word("../a.db"), "../a.db");
  EXPECT_EQ(shell_word("my store.db"), "'my store.db'");
  EXPECT_EQ(shell_word("it's;x"), "'it'\\''s;x'");
  EXPECT_EQ(shell_word(""), "''");
}

TEST(Spans, AreReadAndWritten) {
  EXPECT_EQ(span_from("90d"), std::chrono::days(90));
  EXPECT_EQ(span_from("2h"), std::chrono::hours(2));
  for (const char* text : {"", "d", "9", "-1d", "1.5h", "5y", "99999999d"})
    EXPECT_FALSE(span_from(text)) << text;
  EXPECT_EQ(exact_span(std::chrono::milliseconds(4100)), "4.1s");
  EXPECT_EQ(exact_span(std::chrono::seconds(192)), "3m12s");
  EXPECT_EQ(short_count(88'120), "88.1k");
  EXPECT_EQ(grouped(-1'234'567), "-1,234,567");
}

TEST(Wrapped, BreaksAtSpacesAndKeepsTheBreaksThatAreThere) {
  EXPECT_EQ(wrapped("one two three", 7), "one two\nthree");
  EXPECT_EQ(wrapped("one two\n\nthree four", 9), "one two\n\nthree\nfour");
  EXPECT_EQ(wrapped("unbreakable", 4), "unbreakable");
}

}  // namespace
}  // namespace perdure::cli
