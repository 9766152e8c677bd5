// Pointers of RFC 6901, section 5, and those that lead nowhere.

#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

#include "core/api/json_text.hpp"
#include "perdure/core/json.hpp"

namespace perdure {
namespace {

TEST(JsonPointerTest, FindsWhatTheStandardSays) {
  const Json value =
      parse_json(R"({"foo": ["bar", {"baz": 1}], "": 0, "a/b": 2, "m~n": 3, "~1": 4, "0": 5})")
          .value();
  const std::vector<std::pair<std::string, std::string>> found = {
      {"/foo/0", "\"bar\""}, {"/foo/1/baz", "1"}, {"/", "0"}, {"/a~1b", "2"},
      {"/m~0n", "3"},        {"/~01", "4"},       {"/0", "5"}};
  for (const auto& [pointer, text] : found) {
    const Json* at = find_by_pointer(value, pointer);
    ASSERT_NE(at, nullptr) << pointer;
    EXPECT_EQ(at->text(), text) << pointer;
  }
  EXPECT_EQ(find_by_pointer(value, ""), &value);
}

TEST(JsonPointerTest, FindsNothingElse) {
  const Json value = parse_json(R"({"foo": ["bar"], "a/b": 2})").value();
  for (const std::string pointer : {"/foo/1", "/foo/00", "/foo/-", "/foo/+0", "/foo/", "/foo/0/x",
                                    "/a/b", "foo", "/bar", "/foo/99999999999999999999999"}) {
    EXPECT_EQ(find_by_pointer(value, pointer), nullptr) << pointer;
  }
}

TEST(JsonPointerTest, ANameComesBackAsItWas) {
  for (const std::string name : {"a", "", "/", "~", "~1", "a/~b~0"}) {
    EXPECT_EQ(pointer_name(pointer_part(name)), name);
  }
}

}  // namespace
}  // namespace perdure
