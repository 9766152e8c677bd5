// Scratchpads: keys, changes, JSON.

#include "perdure/runtime/scratchpad.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <string>
#include <string_view>

#include "perdure/core/error.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/log.hpp"
#include "values/codec_rules.hpp"

namespace perdure {
namespace {

TEST(Scratchpad, IsSetAndDeletedByKey) {
  Scratchpad scratchpad;
  ASSERT_TRUE(apply(scratchpad, {.key = "notes", .value = "a"}));
  ASSERT_TRUE(apply(scratchpad, {.key = "notes", .value = "b"}));
  EXPECT_EQ(std::get<std::string>(scratchpad.values.at("notes")), "b");
  ASSERT_TRUE(apply(scratchpad, {.key = "notes"}));
  ASSERT_TRUE(apply(scratchpad, {.key = "never-there"}));
  EXPECT_TRUE(scratchpad.values.empty());
}

TEST(Scratchpad, RefusesKeysThatAreNoFileNames) {
  Scratchpad scratchpad;
  for (const std::string& key :
       {std::string(), std::string("a/b"), std::string(".."), std::string("a b"),
        std::string("\xC3\xA4"), std::string("a\0b", 3), std::string(129, 'a')}) {
    const auto refused = apply(scratchpad, {.key = key, .value = "x"});
    ASSERT_FALSE(refused) << key;
    EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
    EXPECT_FALSE(scratch_entry_from_json("set", to_json(ScratchEntry{.key = key, .value = "x"})));
  }
  EXPECT_TRUE(check_scratch_key("Az09_-"));
  EXPECT_TRUE(check_scratch_key(std::string(128, 'a')));
}

TEST(Scratchpad, HasTextsAndBlobs) {
  const ScratchEntry text{.key = "k", .value = "t"};
  EXPECT_EQ(kind_of(text), "set");
  EXPECT_EQ(to_json(text), R"({"key":"k","text":"t"})");
  const ScratchEntry gone{.key = "k"};
  EXPECT_EQ(kind_of(gone), "delete");
  EXPECT_EQ(to_json(gone), R"({"key":"k"})");
  const ScratchEntry blob{.key = "k", .value = BlobRef{.digest = sha256("x"), .size = 1}};
  EXPECT_EQ(to_json(blob), R"({"key":"k","blob":")" + to_hex(sha256("x")) + R"(","size":1})");
}

TEST(Scratchpad, RefusesWhatIsNoEntry) {
  for (const std::string_view text :
       {"", "{}", R"({"key":"k"})", R"({"key":"k","text":1})", R"({"key":"k","blob":"ab"})",
        R"({"key":"k","blob":{},"size":1})", R"({"text":"t"})"}) {
    const auto entry = scratch_entry_from_json("set", text);
    ASSERT_FALSE(entry) << text;
    EXPECT_EQ(entry.error().code, ErrorCode::invalid_argument) << text;
  }
  EXPECT_FALSE(scratch_entry_from_json("append", R"({"key":"k","text":"t"})"));
}

RC_GTEST_PROP(ScratchpadProperty, EntriesComeBackWithAnyBytes, (const std::string& text)) {
  ScratchEntry entry{.key = "k", .unknown = *values::any_unknown()};
  switch (*rc::gen::inRange(0, 3)) {
    case 0:
      entry.value = text;
      break;
    case 1:
      entry.value = BlobRef{.digest = sha256(text), .size = text.size()};
      break;
    default:
      break;
  }
  if (*rc::gen::arbitrary<bool>()) entry.by = "outside";
  const std::string kind(kind_of(entry));
  values::check_codec(entry,
                      [&](std::string_view json) { return scratch_entry_from_json(kind, json); });
}

}  // namespace
}  // namespace perdure
