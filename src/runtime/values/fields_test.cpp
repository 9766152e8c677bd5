// Members of objects as fields: what is taken, refused, and left over.

#include "runtime/api/fields.hpp"

#include <cstddef>
#include <cstdint>
#include <gtest/gtest.h>
#include <optional>
#include <rapidcheck/gtest.h>
#include <string>

#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"

namespace perdure::values {
namespace {

TEST(Fields, OfSeveralMembersOfOneKeyTheLastCounts) {
  Reader fields(R"({"a":1,"a":2})", "thing");
  std::int64_t a = 0;
  fields("a", a);
  EXPECT_EQ(a, 2);
  EXPECT_TRUE(fields.finish().value().empty());
}

TEST(Fields, TheFirstThingThatDoesNotFitIsSaid) {
  Reader fields(R"({"a":"x","b":"y"})", "thing");
  std::int64_t number = 5;
  fields("a", number);
  fields("b", number);
  fields.require("c");
  EXPECT_EQ(fields.finish().error().message, "not a thing: \"a\": expected an integer");
  EXPECT_EQ(number, 5);
}

TEST(Fields, AVersionThatIsNoNumberIsRefused) {
  Reader fields(R"({"v":"2"})", "thing");
  EXPECT_EQ(fields.finish().error().code, ErrorCode::invalid_argument);
}

TEST(Fields, NullIsAMissingOptional) {
  Reader fields(R"({"a":null})", "thing");
  std::optional<std::string> a = "before";
  fields("a", a);
  EXPECT_TRUE(fields.finish());
}

TEST(AddJson, PutsJsonAsItIsAndOtherTextAsAString) {
  Writer writer;
  writer.json("a", std::string("{ }"));
  writer.json("b", std::string("{"));
  writer.json("c", std::string("1 "));
  EXPECT_EQ(writer.finish(), R"({"a":{ },"b_text":"{","c_text":"1 "})");
}

TEST(AddJson, NeverMakesATextTooDeepToRead) {
  for (const std::size_t depth : {std::size_t{1}, json_depth_max - 9, json_depth_max - 8,
                                  json_depth_max - 7, json_depth_max}) {
    const std::string text = std::string(depth, '[') + "\"]\\\"[\"" + std::string(depth, ']');
    ASSERT_TRUE(is_json(text));
    Writer writer;
    writer.json("a", text);
    const std::string object = writer.finish();
    EXPECT_TRUE(is_json("[[[[[[[" + object + "]]]]]]]")) << depth;
    Reader fields(object, "thing");
    RawJson back;
    fields("a", back);
    EXPECT_TRUE(fields.finish());
    EXPECT_EQ(back.text(), text);
  }
}

RC_GTEST_PROP(AddBytes, ComesBackWithAnyBytes, (const std::string& bytes)) {
  Writer writer;
  writer("a", bytes);
  const std::string object = writer.finish();
  Reader fields(object, "thing");
  std::string back;
  fields("a", back);
  RC_ASSERT(fields.finish().value().empty());
  RC_ASSERT(back == bytes);
}

}  // namespace
}  // namespace perdure::values
