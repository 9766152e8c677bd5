// The checks before a call: their order, and the words a model gets.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

#include "agent/api/agent.hpp"
#include "perdure/agent/tools.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"

namespace perdure {
namespace {

using ::testing::HasSubstr;

ToolSpec spec(std::string name, std::string schema, SideEffects touches = {.read = true}) {
  Tool tool{.name = std::move(name), .input_schema = std::move(schema), .side_effects = touches};
  tool.run = [](const CallContext&) -> ToolOutcome { return Succeeded{}; };
  return {.tool = std::move(tool)};
}

Toolbox toolbox() {
  std::vector<ToolSpec> specs = {
      spec("read_file", R"({"type": "object", "required": ["path"], "additionalProperties": false,
                            "properties": {"path": {"type": "string"}}})"),
      spec("write_file", R"({"properties": {"path": {"type": "string"}}})", {.write = true}),
      spec("wait", "{}")};
  specs[0].path_args.pointers = {"/path"};
  specs[2].is_poll = true;
  specs[2].secrets = {"TOKEN"};
  return Toolbox::of(specs).value();
}

PermitDecision check(const std::string& name, const std::string& args, std::size_t in_a_row = 1,
                     const Permissions& permissions = {}) {
  return check_call(toolbox(), permissions, {.name = name, .args = args}, in_a_row);
}

Json refusal(const PermitDecision& check) {
  return check.permit == Permit::deny ? parse_json(check.why).value() : Json();
}

std::string error_of(const PermitDecision& check) {
  const Json text = refusal(check);
  const Json* error = text.find("error");
  return error == nullptr ? "none" : *error->as_string();
}

TEST(CallCheckTest, LetsAGoodCallGo) {
  const auto good = check("read_file", R"({"path": "a"})");
  EXPECT_EQ(good, PermitDecision::allow());
}

TEST(CallCheckTest, NamesTheToolThatWasMeant) {
  const Json text = refusal(check("readFile", "{}"));
  EXPECT_EQ(text.find("error")->text(), "\"unknown_tool\"");
  EXPECT_EQ(text.find("did_you_mean")->text(), "\"read_file\"");
  EXPECT_EQ(text.find("tools")->text(), R"(["read_file","wait","write_file"])");
  EXPECT_EQ(refusal(check("zzz", "{}")).find("did_you_mean"), nullptr);
}

TEST(CallCheckTest, SaysWhyArgumentsCannotBeRead) {
  EXPECT_EQ(error_of(check("read_file", R"({"path": )")), "arguments_not_json");
  EXPECT_EQ(error_of(check("read_file", R"(["a"])")), "arguments_not_json");
  EXPECT_EQ(error_of(check("read_file", R"("{\"path\":1}")")), "arguments_not_json");
  EXPECT_EQ(error_of(check("read_file", R"({"path": "a", "path": "b"})")), "arguments_not_json");
  EXPECT_EQ(check("wait", "").permit, Permit::allow);
}

TEST(CallCheckTest, TellsAllThatIsWrong) {
  const Json text = refusal(check("read_file", R"({"pth": "a", "x": 1})"));
  EXPECT_EQ(text.find("error")->text(), "\"invalid_arguments\"");
  EXPECT_EQ(text.find("errors")->as_array()->size(), 3U);
  EXPECT_THAT(text.text(), HasSubstr("did you mean \\\"path\\\"?"));
}

TEST(CallCheckTest, RefusesOrAsksAsPermissionsSay) {
  EXPECT_EQ(check("write_file", "{}").permit, Permit::ask);
  EXPECT_EQ(error_of(check("read_file", R"({"path": "../a"})")), "not_permitted");
  const Permissions rules{.paths = {{"secret/**", Permit::deny}}};
  EXPECT_THAT(refusal(check("read_file", R"({"path": "secret/a"})", 1, rules)).text(),
              HasSubstr("secret/**"));
}

TEST(CallCheckTest, RefusesTheThirdOfThree) {
  EXPECT_EQ(check("read_file", R"({"path": "a"})", 2).permit, Permit::allow);
  EXPECT_EQ(error_of(check("read_file", R"({"path": "a"})", 3)), "loop");
  EXPECT_EQ(check("wait", "{}", 3).permit, Permit::allow);
}

TEST(CallCheckTest, ChecksInOrder) {
  EXPECT_EQ(error_of(check("nothing", "no json", 3)), "unknown_tool");
  EXPECT_EQ(error_of(check("read_file", "no json", 3)), "arguments_not_json");
  EXPECT_EQ(error_of(check("read_file", "{}", 3)), "invalid_arguments");
  EXPECT_EQ(error_of(check("read_file", R"({"path": "../a"})", 3)), "not_permitted");
  EXPECT_EQ(error_of(check("write_file", "{}", 3)), "loop");
}

TEST(CallCheckTest, ASecretIsForTheToolsThatMayHaveIt) {
  EXPECT_EQ(check("wait", R"({"a": {"secret_ref": "TOKEN"}})").permit, Permit::allow);
  const Json text = refusal(check("wait", R"({"a": [{"secret_ref": "OTHER"}]})"));
  EXPECT_THAT(text.text(), HasSubstr("no secret"));
  EXPECT_THAT(text.text(), HasSubstr("/a/0"));
}

Message calls(const std::vector<std::pair<std::string, std::string>>& all) {
  Message message{.role = Role::assistant};
  for (const auto& [name, args] : all) {
    message.blocks.emplace_back(ToolCallBlock{.name = name, .args = args});
  }
  return message;
}

State transcript(std::vector<Message> messages) {
  State state;
  Position position = 0;
  for (Message& message : messages) state.transcript.push_back({++position, std::move(message)});
  return state;
}

const Message results{.blocks = {ToolResultBlock{.content = "x"}}};

TEST(TimesInARowTest, CountsOverMessagesByValue) {
  const State state = transcript({calls({{"a", R"({"x": 1, "y": 2})"}}), results,
                                  calls({{"a", R"({"y":2.0,"x":1})"}}), results,
                                  calls({{"a", R"({"x":1,"y":2})"}})});
  EXPECT_EQ(times_in_a_row(state, 1, 0), 1U);
  EXPECT_EQ(times_in_a_row(state, 3, 0), 2U);
  EXPECT_EQ(times_in_a_row(state, 5, 0), 3U);
}

TEST(TimesInARowTest, CountsWithinAMessage) {
  const State state = transcript({calls({{"a", "{}"}, {"a", "{}"}, {"a", "{}"}, {"b", "{}"}})});
  EXPECT_EQ(times_in_a_row(state, 1, 1), 2U);
  EXPECT_EQ(times_in_a_row(state, 1, 2), 3U);
  EXPECT_EQ(times_in_a_row(state, 1, 3), 1U);
}

TEST(TimesInARowTest, EndsAtAnotherCallOrAWordOfTheUser) {
  EXPECT_EQ(
      times_in_a_row(transcript({calls({{"a", "{}"}}), calls({{"b", "{}"}}), calls({{"a", "{}"}})}),
                     3, 0),
      1U);
  EXPECT_EQ(times_in_a_row(
                transcript({calls({{"a", "{}"}}), user_says("again"), calls({{"a", "{}"}})}), 3, 0),
            1U);
  EXPECT_EQ(
      times_in_a_row(transcript({calls({{"a", "no json"}}), calls({{"a", "no json"}})}), 2, 0), 2U);
  EXPECT_EQ(times_in_a_row({}, 2, 0), 0U);
}

TEST(ToolboxTest, FindsWhatIsWrongWithATool) {
  const auto why = [](ToolSpec tool) {
    const auto box = Toolbox::of({std::move(tool)});
    return box ? "nothing" : box.error().message;
  };
  EXPECT_THAT(why(spec("t", "{")), HasSubstr("tool t: its schema"));
  EXPECT_THAT(why(spec("t", R"({"type": "string"})")), HasSubstr("type \"object\""));
  EXPECT_THAT(why(spec("t", R"({"properties": {"a": {"type": "x"}}})")),
              HasSubstr("/properties/a/type"));
  EXPECT_FALSE(Toolbox::of({spec("t", "{}"), spec("t", "{}")}));
  EXPECT_EQ(toolbox().definitions().size(), 3U);
  EXPECT_NE(toolbox().tools().find("wait"), nullptr);
}

}  // namespace
}  // namespace perdure
