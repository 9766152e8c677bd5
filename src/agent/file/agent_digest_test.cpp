// When an agent is the same agent, and what is said when it is not.

#include <filesystem>
#include <gtest/gtest.h>
#include <set>
#include <string>
#include <vector>

#include "agent/api/agent_file.hpp"
#include "perdure/agent/agent.hpp"
#include "perdure/core/error.hpp"

namespace perdure {
namespace {

using Parts = std::vector<std::string>;

const std::string base = R"(name: a
model: {provider: openai, id: m, parameters: {temperature: 0.5, top_p: 1}}
system_prompt: Be kind.
roots: [{path: .}]
tools:
  files: {}
  exec:
    one: {description: d, command: [one], side_effects: [write]}
    two: {description: d, command: [two]}
permissions: {write: allow, paths: {a: deny, b: ask}}
)";

std::string digest_of(const std::string& text, const std::string& path = "/here/a.yaml") {
  const auto spec = parse_agent(
      text, path, [](const std::filesystem::path&) -> Result<std::string> { return "Be kind."; });
  EXPECT_TRUE(spec) << spec.error().message;
  return spec ? agent_digest(*spec) : "";
}

std::string with(const std::string& what, const std::string& instead) {
  std::string text = base;
  const auto at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), instead);
}

Parts changes(const std::string& what, const std::string& instead) {
  return changed_parts(digest_of(base), digest_of(with(what, instead)));
}

TEST(AgentDigestTest, IsTheSameHoweverTheSameAgentIsWritten) {
  const std::string digest = digest_of(base);
  EXPECT_EQ(digest_of("# hello\n" + base), digest);
  EXPECT_EQ(digest_of(base, "/elsewhere/b.yaml"), digest);
  EXPECT_EQ(digest_of(with("temperature: 0.5, top_p: 1", "top_p: 1.0, \"temperature\": 0.50")),
            digest);
  EXPECT_EQ(digest_of(with("{a: deny, b: ask}", "{b: ask, a: deny}")), digest);
  EXPECT_EQ(digest_of(with("files: {}", "files: {entries_max: 1000}\n  plan: false")), digest);
  EXPECT_EQ(digest_of(with("system_prompt: Be kind.", "system_prompt: {file: p.md}")), digest);
  EXPECT_EQ(digest_of(with("write: allow", "read: allow\n  , write: allow")), digest);
}

TEST(AgentDigestTest, IsTheSameWhereOnlyTheMeansAreMoreOrLess) {
  const std::string digest = digest_of(base);
  for (const char* more : {"budget: {dollars: 5}", "limits: {iterations: 3}", "cadence: call",
                           "on_change: refuse", "prices: {m: {input: 1, output: 2}}"}) {
    EXPECT_EQ(digest_of(base + more), digest) << more;
  }
  EXPECT_EQ(
      digest_of(with("files: {}", "files: {}\n  notes: true") + "scratchpad: {folder: notes}"),
      digest_of(with("files: {}", "files: {}\n  notes: true")));
  EXPECT_EQ(digest_of(with("name: a", "name: b")), digest);
  EXPECT_EQ(digest_of(with("id: m", "id: m, key: {env: K}, retry_for: 1s")), digest);
  EXPECT_EQ(digest_of(with("id: m", "id: m, response_bytes_max: 1000")), digest);
}

TEST(AgentDigestTest, SaysWhichPartsChanged) {
  EXPECT_EQ(changes("id: m", "id: other"), Parts{"model"});
  EXPECT_EQ(changes("0.5", "0.6"), Parts{"model"});
  EXPECT_EQ(changes("Be kind.", "Be brief."), Parts{"system_prompt"});
  EXPECT_EQ(changes("path: .", "path: ., writable: true"), Parts{"roots"});
  EXPECT_EQ(changes("[one]", "[one, --force]"), Parts{"tools"});
  EXPECT_EQ(changes("description: d", "description: e"), Parts{"tools"});
  EXPECT_EQ(changes("[write]", "[write, network]"), Parts{"tools"});
  EXPECT_EQ(changes("b: ask", "b: allow"), Parts{"permissions"});
  EXPECT_EQ(changes("name: a", "name: a\non_doubt: tell_model"), Parts{"on_doubt"});
  EXPECT_EQ(changes("name: a", "name: a\nrepeat: once_per_session"), Parts{"tools"});
  EXPECT_EQ(changes("name: a", "name: a\nsecrets: {S: {env: S}}"), Parts{"secrets"});
  EXPECT_EQ(changes("id: m", "id: m, headers: {A: b}"), Parts{"model"});
  EXPECT_EQ(changes("files: {}", "files: {}\n  shell: {}"), Parts{"tools"});
}

TEST(AgentDigestTest, KnowsEveryKeyOfAModelThatIsNotTheUsual) {
  const std::string openai = "name: a\nmodel: {provider: openai, id: m";
  const std::string anthropic = "name: a\nmodel: {provider: anthropic, id: m";
  EXPECT_EQ(digest_of(openai + ", system_role: system, tokens_out_max: 8192}"),
            digest_of(openai + "}"));
  EXPECT_EQ(digest_of(anthropic + ", version: \"2023-06-01\"}"), digest_of(anthropic + "}"));
  EXPECT_NE(digest_of(openai + ", system_role: developer}"), digest_of(openai + "}"));
  EXPECT_NE(digest_of(openai + ", tokens_out_max: 100}"), digest_of(openai + "}"));
  EXPECT_NE(digest_of(openai + ", cap_parameter: max_tokens}"), digest_of(openai + "}"));
  EXPECT_NE(digest_of(anthropic + ", version: v2}"), digest_of(anthropic + "}"));
}

// Each declaration of a program matters: a digest that forgot one would let a session go on under
// other rules for its effects.
TEST(AgentDigestTest, KnowsEveryKeyOfAProgram) {
  const std::string begin =
      "name: a\nmodel: {provider: openai, id: m}\nsecrets: {S: {env: S}}\ntools: {exec: {t: "
      "{description: d, "
      "command: [c], side_effects: [mutate]";
  std::set<std::string> digests = {digest_of(begin + "}}}")};
  const std::vector<std::string> more = {", verify: [v]",
                                         ", input: {type: object, required: [a]}",
                                         ", honours_key: true",
                                         ", honours_key: true, key_window: 1h",
                                         ", repeat: once_per_store",
                                         ", business_key: /a",
                                         ", timeout: 1s",
                                         ", verify_timeout: 1s",
                                         ", in_flight_max: 1s",
                                         ", attempts_max: 9",
                                         ", blocking: same_arguments",
                                         ", exit_codes: {error: [9]}",
                                         ", exit_codes: {nothing: [9]}",
                                         ", secrets: [S]",
                                         ", env: {A: b}",
                                         ", pass_env: [A]",
                                         ", folder: f",
                                         ", path_args: [/a]",
                                         ", poll: true",
                                         ", output_bytes_max: 9"};
  for (const std::string& key : more) {
    EXPECT_TRUE(digests.insert(digest_of(begin + key + "}}}")).second) << key;
  }
}

TEST(AgentDigestTest, WhatIsNoDigestDiffersInAllParts) {
  const Parts all = {"model",   "on_doubt",      "permissions", "roots",
                     "secrets", "system_prompt", "tools"};
  const std::string digest = digest_of(base);
  EXPECT_EQ(changed_parts(digest, digest), Parts{});
  EXPECT_EQ(changed_parts("", digest), all);
  EXPECT_EQ(changed_parts("c0ffee", digest), all);
  EXPECT_EQ(changed_parts(digest + "mood 123\n", digest), Parts{"mood"}) << "of a newer version";
}

}  // namespace
}  // namespace perdure
