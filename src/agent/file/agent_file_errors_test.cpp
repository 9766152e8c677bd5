// What is told of an agent file that is wrong: all of it, where, and what to write.

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/api/agent_file.hpp"
#include "perdure/core/error.hpp"

namespace perdure {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const std::string least_file = "name: a\nmodel: {provider: anthropic, id: m}\n";

std::string errors_of(const std::string& text) {
  const auto spec = parse_agent(
      text, "/agents/a.yaml", [](const std::filesystem::path& path) -> Result<std::string> {
        return fail(ErrorCode::not_found, "there is no file " + path.string());
      });
  if (spec) return "it is read";
  EXPECT_EQ(spec.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(spec.error().subject, "/agents/a.yaml");
  return spec.error().message;
}

TEST(AgentFileErrorsTest, ASecretInTheWrongPlaceIsNotShown) {
  for (const std::string& text :
       {std::string("name: a\nmodel: {provider: openai, id: m, key: sk-12-34}\n"),
        std::string("name: a\nmodel: {provider: openai, id: m, key: {env: sk-12-34}}\n"),
        least_file + "secrets: {S: sk-12-34}\n", least_file + "secrets: {S: {env: sk-12-34}}\n"}) {
    EXPECT_THAT(errors_of(text), Not(HasSubstr("sk-12-34"))) << text;
  }
}

TEST(AgentFileErrorsTest, EveryErrorHasItsPlaceAndAHint) {
  struct Case {
    std::string text;
    std::string_view begins;
    std::string_view says;
  };
  const std::vector<Case> cases = {
      {"", "/agents/a.yaml:1:1: ", "empty"},
      {"name: a", "/agents/a.yaml:1:1: ", "lacks the member \"model\""},
      {"- a", "/agents/a.yaml:1:1: ", "must be an object"},
      {least_file + "budgt: {dollars: 1}", "/agents/a.yaml:3:1: ", "did you mean \"budget\"?"},
      {least_file + "colour: red", "/agents/a.yaml:3:1: ", "there are name, model, system_prompt"},
      {least_file + "tools:\n  plan: yes", "/agents/a.yaml:4:9: ", "write true, false"},
      {least_file + "tools:\n  plan: \"yes\"", "/agents/a.yaml:4:9: ", "true or false"},
      {least_file + "name: b", "/agents/a.yaml:3:1: ", "\"name\" is here twice; it is in line 1"},
      {"name: no\nmodel: {provider: anthropic, id: m}",
       "/agents/a.yaml:1:7: ", "in quotes it is a text"},
      {least_file + "limits: {iterations: 010}",
       "/agents/a.yaml:3:22: ", "010 means different things"},
      {least_file + "limits: {time: 30}", "/agents/a.yaml:3:16: ", "like 500ms, 30s"},
      {least_file + "limits: {time: 30 min}", "/agents/a.yaml:3:16: ", "like 500ms, 30s"},
      {least_file + "scratchpad: {folder: notes}",
       "/agents/a.yaml:3:", "write tools: {notes: true}"},
      {least_file + "tools: {notes: true}\nscratchpad: notes",
       "/agents/a.yaml:4:13: ", "{folder: PATH}"},
      {least_file + "on_doubt: guess", "/agents/a.yaml:3:11: ", "must be one of"},
      {least_file + "cadence: sometimes", "/agents/a.yaml:3:10: ", "turn, call, or"},
      {least_file + "permissions: {write: maybe}", "/agents/a.yaml:3:22: ", "allow, ask or deny"},
      {least_file + "budget: {dollars: 0.0000001}",
       "/agents/a.yaml:3:19: ", "six decimals at most"},
      {least_file + "prices: {m: {input: 1, output: 2.50000000000000000001}}",
       "/agents/a.yaml:3:32: ", "output: has more than six decimals"},
      {least_file + "tools:\n  plan: true\n  exec:\n    plan_show: {description: d, command: [sh]}",
       "/agents/a.yaml:6:", "is a tool of this agent already"},
      {least_file +
           "roots: [{path: .}]\ntools:\n  files: {}\n  exec:\n    edit_file: {description: d, "
           "command: [sh]}",
       "/agents/a.yaml:7:", "is a tool of this agent already"},
      {"name: a\nmodel: {provider: anthropic}", "/agents/a.yaml:2:8: ", "lacks the member \"id\""},
      {"name: a\nmodel: {provider: scripted}", "/agents/a.yaml:2:8: ", "\"script\""},
      {"name: a\nmodel: {provider: scripted, script: s.json}",
       "/agents/a.yaml:2:37: ", "no file /agents/s.json"},
      {"name: a\nmodel: {provider: openai, id: m, cache_hints: true}",
       "/agents/a.yaml:2:47: ", "write it for the provider anthropic alone"},
      {"name: a\nmodel: {provider: openai, id: m, version: v2}",
       "/agents/a.yaml:2:43: ", "write it for the provider anthropic alone"},
      {"name: a\nmodel: {provider: anthropic, id: m, sends_reasoning: true}",
       "/agents/a.yaml:2:54: ", "write it for the provider openai alone"},
      {"name: a\nmodel: {provider: anthropic, id: m, system_role: system}",
       "/agents/a.yaml:2:50: ", "write it for the provider openai alone"},
      {"name: a\nmodel: {provider: anthropic, id: m, cap_parameter: max_tokens}",
       "/agents/a.yaml:2:52: ", "write it for the provider openai alone"},
      {"name: a\nmodel: {provider: openai, id: m, cap_parameter: max tokens}",
       "/agents/a.yaml:2:49: ", "write the name of the parameter"},
      {"name: a\nmodel: {provider: openai, id: m, cap_parameter: 8192}",
       "/agents/a.yaml:2:49: ", "write the name of the parameter"},
      {"name: a\nmodel: {provider: openai, id: m, cap_parameter: messages}",
       "/agents/a.yaml:2:49: ", "write the name of the parameter"},
      {"name: a\nmodel: {provider: anthropic, id: m, script: s.json}",
       "/agents/a.yaml:2:45: ", "write it for the provider scripted alone"},
      {"name: a\nmodel: {provider: scripted, script: s.json, id: m}",
       "/agents/a.yaml:2:49: ", "a script needs none"},
      {"name: a\nmodel: {provider: scripted, script: s.json, key: {env: K}}",
       "/agents/a.yaml:2:50: ", "a script needs none"},
      {"name: a\nmodel: {provider: scripted, script: s.json, timeouts: {idle: 1s}}",
       "/agents/a.yaml:2:55: ", "a script needs none"},
      {"name: a\nmodel: {provider: scripted, script: s.json, headers: {A: b}}",
       "/agents/a.yaml:2:54: ", "a script needs none"},
      {"name: a\nmodel: {provider: scripted, script: s.json, cache_hints: true}",
       "/agents/a.yaml:2:58: ", "write it for the provider anthropic alone"},
      {"name: a\nmodel: {provider: openai, id: m, key: sk-123}",
       "/agents/a.yaml:2:39: ", "never the secret itself"},
      {least_file + "system_prompt: {file: none.md}", "/agents/a.yaml:3:23: ", "none.md"},
      {least_file + "tools: {files: {}}", "/agents/a.yaml:3:16: ", "needs a root"},
      {least_file + "roots: [{path: a}, {path: b}]", "/agents/a.yaml:3:9: ", "each needs a name"},
      {least_file + "roots: [{path: a, name: x}, {path: b, name: x}]",
       "/agents/a.yaml:3:45: ", "two named x"},
      {least_file + "a: &x 1\nb: *x", "/agents/a.yaml:3:", "anchors and aliases are not read"},
      {least_file + "name2: !!str a", "/agents/a.yaml:3:", "a tag"},
      {least_file + "<<: {}", "/agents/a.yaml:3:1: ", "write out what it would merge"},
      {least_file + "[a]: b", "/agents/a.yaml:3:1: ", "a key must be text"},
      {least_file + "---\nname: b", "/agents/a.yaml:", "one file is one agent"},
      {least_file + "tools: [", "/agents/a.yaml:", "is not YAML"},
      {least_file + "tools:\n\tplan: true", "/agents/a.yaml:4:", "is not YAML"},
      {"name: \xC3\xA4\xFF", "/agents/a.yaml:1:9: ", "is not UTF-8"},
      {std::string("name: a\nmo\0del: 1", 17), "/agents/a.yaml:2:3: ", "a zero byte"},
      {std::string(5'000'000, '#') + std::string(5'000'000, '#'),
       "/agents/a.yaml:1:1: ", "a script) has 1048576 bytes at most"},
  };
  for (const Case& c : cases) {
    EXPECT_THAT(errors_of(c.text), AllOf(StartsWith(c.begins), HasSubstr(c.says)))
        << c.text.substr(0, 200);
  }
}

TEST(AgentFileErrorsTest, WhatIsWrongWithAProgramIsSaidAtIt) {
  const std::string begin =
      least_file + "tools:\n  exec:\n    pay:\n      description: d\n      command: [pay]\n";
  const std::vector<std::pair<std::string, std::string_view>> cases = {
      {"      honours_key: true", "honours a key, but declares no side effects"},
      {"      side_effects: [read]\n      verify: [x]", "nothing to verify"},
      {"      side_effects: []", "at least 1"},
      {"      side_effects: [delete]", "must be one of"},
      {"      key_window: 1d\n      side_effects: [mutate]", "does not honour a key"},
      {"      input: {type: string}", "of type \"object\""},
      {"      input: {type: object, properties: {a: {type: txt}}}", "pay"},
      {"      business_key: order", "a JSON pointer"},
      {"      secrets: [BANK]", "secrets: {BANK: {env: VARIABLE}}"},
      {"      exit_codes: {error: [75]}", "75 and 76 have their meaning already"},
      {"      exit_codes: {nothing: [76]}", "75 and 76 have their meaning already"},
      {"      env: {PERDURE_KEY: a}", "PERDURE_KEY"},
      {"      env: {A: 1}", "put numbers in quotes"},
      {"      timeout: 0s", "a time, like"},
      {"      comand: [x]", "did you mean \"command\"?"},
  };
  for (const auto& [line, says] : cases) {
    EXPECT_THAT(errors_of(begin + line), AllOf(StartsWith("/agents/a.yaml:"), HasSubstr(says)))
        << line;
  }
}

TEST(AgentFileErrorsTest, APatternThatFitsNoPathIsRefused) {
  for (const std::string pattern : {"..", "../secret/**", "a/../b", "/srv/../etc/**", "a/.."}) {
    const std::string says = "\"" + pattern + "\" fits no path";
    EXPECT_THAT(errors_of(least_file + "permissions:\n  paths:\n    ok: deny\n    \"" + pattern +
                          "\": deny\n"),
                AllOf(StartsWith("/agents/a.yaml:6:"), HasSubstr("permissions.paths: " + says),
                      HasSubstr("relative to a root")));
    EXPECT_THAT(
        errors_of(least_file + "roots: [{path: .}]\ntools:\n  files:\n    hidden:\n      - ok\n" +
                  "      - \"" + pattern + "\"\n"),
        AllOf(StartsWith("/agents/a.yaml:8:9: "), HasSubstr("files.hidden: " + says)));
  }
  EXPECT_EQ(
      errors_of(least_file + "permissions: {paths: {\"a..b/..c/**\": deny, \"./d\": deny}}\n"),
      "it is read");
}

TEST(AgentFileErrorsTest, SeveralErrorsAreToldAtOnceInTheirOrder) {
  const std::string message = errors_of(
      "name: 7\nmodel:\n  provider: openai\n  id: m\n  idd: yes\nlimits: {time: 5}\non_change: "
      "stop\n");
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < message.size();) {
    const std::size_t end = std::min(message.find('\n', at), message.size());
    lines.push_back(message.substr(at, end - at));
    at = end + 1;
  }
  ASSERT_EQ(lines.size(), 5U) << message;
  EXPECT_THAT(lines[0], StartsWith("/agents/a.yaml:1:7: name: must be a string"));
  EXPECT_THAT(lines[1], StartsWith("/agents/a.yaml:5:3: model: has no member \"idd\""));
  EXPECT_THAT(lines[2], StartsWith("/agents/a.yaml:5:8: yes means different things"));
  EXPECT_THAT(lines[3], StartsWith("/agents/a.yaml:6:16: limits.time: "));
  EXPECT_THAT(lines[4], StartsWith("/agents/a.yaml:7:12: on_change: "));
}

TEST(AgentFileErrorsTest, NothingInItMultipliesOrRunsDeep) {
  std::string laughs = least_file + "a: &a [x, x]\n";
  for (char c = 'b'; c < 'z'; ++c) {
    laughs += std::string(1, c) + ": &" + c + " [*" + char(c - 1) + ", *" + char(c - 1) + "]\n";
  }
  EXPECT_THAT(errors_of(laughs), HasSubstr("anchors and aliases are not read"));
  const std::string deep = least_file + "tools: " + std::string(100, '[') + std::string(100, ']');
  EXPECT_THAT(errors_of(deep), HasSubstr("nested too deeply"));
  EXPECT_THAT(errors_of(least_file + "tools: " + std::string(100'000, '[')),
              HasSubstr("/agents/a.yaml:3:"));
}

TEST(AgentFileErrorsTest, ColumnsCountLetters) {
  EXPECT_THAT(errors_of("name: a\nmodel: {id: ää, provider: x}\n"),
              StartsWith("/agents/a.yaml:2:27: "));
}

}  // namespace
}  // namespace perdure
