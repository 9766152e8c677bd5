// Words of others, as rows take them.

#include <gtest/gtest.h>
#include <string>

#include "core/api/text.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/log.hpp"
#include "store/api/limits.hpp"
#include "writer/session_writer.hpp"

namespace perdure {
namespace {

TEST(RowWords, WhatFitsStaysAsItIs) {
  for (const char* const words : {"", "plain", "two\nlines\t\r", " grüße – 😀 "}) {
    EXPECT_EQ(row_text(words, text_bytes_max), words);
  }
  EXPECT_EQ(row_text(std::string(text_bytes_max, 'x'), text_bytes_max),
            std::string(text_bytes_max, 'x'));
}

TEST(RowWords, WhatNoRowTakesBecomesWhatItTakes) {
  EXPECT_EQ(row_text("\x1b[31mred\x7f", 100), "?[31mred?");
  EXPECT_EQ(row_text(std::string("a\0b", 3), 100), "a?b");
  EXPECT_EQ(row_text("a\xff\xc2\x85z\xed\xa0\x80", 100), "a??z???");
}

TEST(RowWords, AreCutBetweenCharacters) {
  const std::string cut = row_text(std::string(4000, 'x') + std::string(2000, 'y'), 4096);
  EXPECT_EQ(cut, std::string(4000, 'x') + std::string(93, 'y') + "…");
  for (std::size_t bytes = 3; bytes < 12; ++bytes) {
    const std::string some = row_text("éééééééé", bytes);
    EXPECT_LE(some.size(), bytes);
    EXPECT_TRUE(is_utf8(some)) << bytes;
  }
}

TEST(RowWords, ANameIsAlwaysOne) {
  EXPECT_EQ(row_name("note_write"), "note_write");
  for (const std::string& name :
       {std::string(), std::string(" a "), std::string("a\nb"), std::string("\xed\xa0\x80"),
        std::string(5000, 'n'), std::string(200, ' ')}) {
    EXPECT_TRUE(check_name("tool", row_name(name), name_bytes_max)) << name;
  }
}

}  // namespace
}  // namespace perdure
