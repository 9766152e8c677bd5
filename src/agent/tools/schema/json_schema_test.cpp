// JSON Schema: what it says to whoever got it wrong, what it refuses, and that it ends. Its
// verdicts are compared with ajv's in tests/tools/schema.

#include "agent/api/json_schema.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"

namespace perdure {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Json json(std::string_view text) { return parse_json(text).value(); }

std::vector<std::string> told(std::string_view schema, std::string_view value) {
  const auto compiled = JsonSchema::compile(json(schema));
  if (!compiled) return {"not compiled: " + compiled.error().message};
  std::vector<std::string> lines;
  for (const auto& [at, rule, message] : compiled->check(json(value))) {
    lines.push_back(at + " " + message + " (" + rule + ")");
  }
  return lines;
}

std::string refusal(std::string_view schema) {
  const auto compiled = JsonSchema::compile(json(schema));
  return compiled ? "compiled" : compiled.error().message;
}

TEST(JsonSchemaTest, TellsAllThatIsWrongAndWhere) {
  constexpr std::string_view schema = R"({"type": "object", "required": ["path", "mode"],
      "properties": {"path": {"type": "string", "minLength": 1}, "mode": {"enum": ["r", "w"]},
                     "lines": {"type": "array", "items": {"type": "integer", "minimum": 1}}},
      "additionalProperties": false})";
  EXPECT_THAT(
      told(schema, R"({"pth": "x", "mode": "rw", "lines": [1, "2", 0]})"),
      ElementsAre(
          R"( lacks the member "path" (/required))",
          R"( has no member "pth"; did you mean "path"? (/additionalProperties))",
          R"(/mode must be one of "r", "w"; is "rw" (/properties/mode/enum))",
          R"(/lines/1 must be an integer, not the string "2" (/properties/lines/items/type))",
          R"(/lines/2 must be at least 1; is 0 (/properties/lines/items/minimum))"));
  EXPECT_THAT(told(schema, R"({"path": "a", "mode": "r"})"), ElementsAre());
}

TEST(JsonSchemaTest, NamesTheFormThatIsClosest) {
  constexpr std::string_view schema = R"({"anyOf": [{"type": "string"},
      {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}}]})";
  EXPECT_THAT(told(schema, R"({"id": "7"})"),
              ElementsAre(R"( is of none of the 2 allowed forms; the closest is 2: /id must be an )"
                          R"(integer, not the string "7" (/anyOf))"));
  EXPECT_THAT(told(R"({"oneOf": [{"minimum": 1}, {"multipleOf": 2}]})", "4"),
              ElementsAre(" must be of one form only; is of 1 and of 2 (/oneOf)"));
}

TEST(JsonSchemaTest, PointsWithEscapes) {
  EXPECT_THAT(told(R"({"additionalProperties": {"type": "null"}})", R"({"a/b~c": 1})"),
              ElementsAre("/a~1b~0c must be null, not the number 1 (/additionalProperties/type)"));
}

TEST(JsonSchemaTest, ComparesIntegersExactly) {
  EXPECT_THAT(told(R"({"maximum": 9007199254740992})", "9007199254740993").size(), 1U);
  EXPECT_THAT(told(R"({"const": 12345678901234567890})", "12345678901234567891").size(), 1U);
  EXPECT_THAT(told(R"({"multipleOf": 0.1})", "0.3"), ElementsAre());
  EXPECT_THAT(told(R"({"type": "integer"})", "1e400"), ElementsAre());
  EXPECT_THAT(told(R"({"uniqueItems": true})", "[1, 1.0]").size(), 1U);
}

TEST(JsonSchemaTest, CountsCodePoints) {
  EXPECT_THAT(told(R"({"maxLength": 2})", R"("😀😀")"), ElementsAre());
  EXPECT_THAT(told(R"({"maxLength": 1})", R"("\ud83d")"), ElementsAre());
}

TEST(JsonSchemaTest, AnEmptyArrayContainsNothing) {
  EXPECT_EQ(told(R"({"prefixItems": [true], "contains": {"minLength": 0}})", "[]").size(), 1U);
}

TEST(JsonSchemaTest, OfTwoMembersOfOneNameTheLastCounts) {
  EXPECT_THAT(told(R"({"properties": {"a": {"type": "null"}}})", R"({"a": 1, "a": null})"),
              ElementsAre());
  EXPECT_EQ(told(R"({"type": "null", "type": "string"})", "null").size(), 1U);
}

TEST(JsonSchemaTest, RefusesWhatWouldChangeTheVerdict) {
  EXPECT_THAT(refusal(R"({"unevaluatedProperties": false})"), HasSubstr("additionalProperties"));
  EXPECT_THAT(refusal(R"({"properties": {"a": {"$dynamicRef": "#x"}}})"),
              HasSubstr("/properties/a/$dynamicRef"));
  EXPECT_THAT(refusal(R"({"nullable": true})"), HasSubstr("\"null\""));
  EXPECT_THAT(refusal(R"({"$ref": "https://example.com/x"})"), HasSubstr("within this schema"));
  EXPECT_THAT(refusal(R"({"$defs": {"x": {"$id": "y"}}})"), HasSubstr("only the root"));
  EXPECT_THAT(refusal(R"({"$schema": "http://json-schema.org/draft-07/schema#",
                          "$ref": "#/definitions/x", "minimum": 1, "definitions": {"x": true}})"),
              HasSubstr("allOf"));
}

TEST(JsonSchemaTest, RefusesWhatIsNoSchema) {
  EXPECT_THAT(refusal(R"({"type": "strnig"})"), HasSubstr("/type: cannot be \"strnig\""));
  EXPECT_THAT(refusal(R"({"properties": {"a": {"minLength": -1}}})"),
              HasSubstr("/properties/a/minLength"));
  EXPECT_THAT(refusal(R"({"pattern": "("})"), HasSubstr("missing closing parenthesis"));
  EXPECT_THAT(refusal(R"({"items": 5})"), HasSubstr("/items"));
  EXPECT_THAT(refusal(R"({"items": [true], "prefixItems": [false]})"), HasSubstr("/items"));
  EXPECT_THAT(refusal(R"({"prefixItems": [true], "items": [true]})"), HasSubstr("beside"));
  EXPECT_THAT(refusal("5"), HasSubstr("its root"));
}

TEST(JsonSchemaTest, RefusesWhatWouldNeverEnd) {
  EXPECT_THAT(refusal(R"({"$ref": "#"})"), HasSubstr("never be done"));
  EXPECT_THAT(refusal(R"({"allOf": [{"$ref": "#/$defs/a"}],
                          "$defs": {"a": {"not": {"$ref": "#/$defs/b"}}, "b": {"if": {"$ref": "#/$defs/a"}}}})"),
              HasSubstr("never be done"));
  EXPECT_EQ(refusal(R"({"items": {"$ref": "#"}, "properties": {"a": {"$ref": "#"}}})"), "compiled");
}

TEST(JsonSchemaTest, GivesUpWhatMultiplies) {
  std::string schema = R"({"$ref": "#/$defs/n0", "$defs": {)";
  for (int i = 0; i < 30; ++i) {
    schema += "\"n" + std::to_string(i) + R"(": {"anyOf": [{"$ref": "#/$defs/n)" +
              std::to_string(i + 1) + R"("}, {"$ref": "#/$defs/n)" + std::to_string(i + 1) +
              "\"}]},";
  }
  schema += R"("n30": {"type": "null"}}})";
  EXPECT_THAT(told(schema, "1"), ElementsAre(HasSubstr("too much work")));
}

TEST(JsonSchemaTest, GivesUpAPatternThatBacktracks) {
  EXPECT_THAT(told(R"({"pattern": "^(a+)+$"})", "\"" + std::string(50, 'a') + "b\"").back(),
              HasSubstr("too much work"));
}

TEST(JsonSchemaTest, GoesAsDeepAsValuesDo) {
  std::string value;
  for (int i = 0; i < 255; ++i) value += '[';
  value += std::string(255, ']');
  EXPECT_THAT(told(R"({"type": "array", "items": {"allOf": [{"$ref": "#"}]}})", value),
              ElementsAre());
}

TEST(JsonSchemaTest, RefusesALongChainOfReferences) {
  std::string schema = R"({"$ref": "#/$defs/n0", "$defs": {)";
  for (int i = 0; i < 5000; ++i) {
    schema +=
        "\"n" + std::to_string(i) + R"(": {"$ref": "#/$defs/n)" + std::to_string(i + 1) + "\"},";
  }
  EXPECT_THAT(refusal(schema + R"("n5000": true}})"), HasSubstr("chains more than"));
}

TEST(JsonSchemaTest, ALargeValueIsCheckedOrGivenUp) {
  std::string value = "[0";
  for (int i = 1; i < 200'000; ++i) value += "," + std::to_string(i);
  EXPECT_THAT(told(R"({"uniqueItems": true, "items": {"type": "integer"}})", value + "]"),
              ElementsAre());
  EXPECT_EQ(told(R"({"items": {"type": "string"}})", value + "]").size(), schema_errors_max);
}

TEST(JsonSchemaTest, ManyRulesForALargeValueAreGivenUp) {
  const std::string text = "\"" + std::string(10'000'000, 'x') + "\"";
  std::string lengths = R"({"allOf": [{"maxLength": 5})";
  std::string types = R"({"allOf": [{"type": "null"})";
  for (int i = 0; i < 5000; ++i) {
    lengths += R"(,{"maxLength": 5})";
    types += R"(,{"type": "null"})";
  }
  EXPECT_THAT(told(lengths + "]}", text).back(), HasSubstr("too much work"));
  EXPECT_EQ(told(types + "]}", text).size(), schema_errors_max);
}

TEST(JsonSchemaTest, SuggestionsAreNotMadeForEver) {
  std::string schema = R"({"additionalProperties": false, "properties": {"x": true)";
  std::string value = R"({"x": 1)";
  for (int i = 0; i < 2000; ++i) {
    schema += ",\"" + std::string(100, 'p') + std::to_string(i) + "\": true";
    value += ",\"" + std::string(100, 'q') + std::to_string(i) + "\": 1";
  }
  EXPECT_THAT(told(schema + "}}", value + "}").back(), HasSubstr("too much work"));
}

TEST(JsonSchemaTest, ManyKeywordsAreRead) {
  std::string schema = R"({"type": "null")";
  for (int i = 0; i < 50'000; ++i) schema += ",\"k" + std::to_string(i) + "\": 1";
  EXPECT_EQ(told(schema + "}", "1").size(), 1U);
}

TEST(JsonSchemaTest, ASecretIsAStringNobodySees) {
  const auto schema = JsonSchema::compile(json(
      R"({"properties": {"token": {"type": "string", "minLength": 99}, "n": {"type": "integer"}}})"));
  ASSERT_TRUE(schema);
  EXPECT_TRUE(schema->check(json(R"({"token": {"secret_ref": "T"}})"), true).empty());
  EXPECT_FALSE(schema->check(json(R"({"token": {"secret_ref": "T"}})")).empty());
  EXPECT_FALSE(schema->check(json(R"({"n": {"secret_ref": "T"}})"), true).empty());
  EXPECT_FALSE(schema->check(json(R"({"token": {"secret_ref": "T", "x": 1}})"), true).empty());
}

}  // namespace
}  // namespace perdure
