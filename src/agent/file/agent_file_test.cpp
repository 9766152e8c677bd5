// Agent files, as people write them and as they get them wrong.

#include "agent/api/agent_file.hpp"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <vector>

#include "agent/api/json_schema.hpp"
#include "doubles/temp_folder.hpp"
#include "file/yaml_document.hpp"
#include "perdure/agent/agent.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/agent/tools.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/tool.hpp"

namespace perdure {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

const std::string least = "name: a\nmodel: {provider: anthropic, id: m}\n";

const std::string whole = R"(# Everything there is.
name: refunds
model:
  provider: openai
  id: gpt-5.2
  base_url: http://127.0.0.1:8080/v1
  parameters: {temperature: 0.20, stop: ["END"], max_tokens: 4096}
  key: {env: OPENAI_API_KEY}
  timeouts: {connect: 500ms, first_byte: 2m, idle: 30s}
  retry_for: 1h
  response_bytes_max: 1000000
  headers: {X-Team: money}
  tokens_out_max: 777
  sends_reasoning: false
  system_role: developer
  cap_parameter: n_predict
system_prompt:
  file: prompt.md
roots:
  - {name: work, path: ., writable: true}
  - {name: docs, path: /usr/share/doc}
tools:
  files: {hidden: ["**/.env"], matches_max: 7}
  shell: {sandbox: none, network: true, hidden: [keys], env: {TERM: dumb}, pass_env: [HOME], timeout: 5m}
  plan: true
  notes: true
  ask_user: true
  exec:
    refund:
      description: Pays a customer back.
      command: [./refund, --live, "7"]
      verify: [./refund, --look]
      input:
        type: object
        required: [order]
        properties: {order: {type: string}, cents: {type: integer}}
      side_effects: [network, mutate]
      honours_key: true
      key_window: 1d
      repeat: once_per_store
      business_key: /order
      timeout: 90s
      verify_timeout: 5s
      in_flight_max: 3m
      attempts_max: 5
      blocking: same_arguments
      exit_codes: {error: [2], nothing: [3, 4]}
      secrets: [BANK]
      env: {MODE: "live"}
      pass_env: [REGION]
      folder: bin
      path_args: [/file]
      poll: true
      output_bytes_max: 1000
    balance:
      description: Reads.
      command: [balance]
      side_effects: [read, network]
    note:
      description: Writes a note.
      command: [note]
      side_effects: [write]
secrets:
  BANK: {file: bank.key}
permissions:
  write: allow
  mutate: deny
  tools: {refund: ask}
  paths: {"src/**": allow, "**/.git/**": deny}
budget: {dollars: 2.500001, warn_percent: 50}
limits: {iterations: 40, time: 30m}
cadence: {turns: 5, time: 20s}
on_doubt: tell_model
repeat: once_per_session
on_change: refuse
scratchpad: {folder: notes}
prices:
  gpt-5.2: {input: 1.75, output: 14, cache_read: 0.175}
)";

Result<std::string> no_files(const std::filesystem::path& path) {
  return fail(ErrorCode::not_found, "there is no file " + path.string());
}

Result<AgentFile> parsed(const std::string& text) {
  return parse_agent(text, "/agents/a.yaml", [](const std::filesystem::path& path) {
    return path == "/agents/prompt.md" ? Result<std::string>("Be kind.\n") : no_files(path);
  });
}

TEST(AgentFileTest, TheLeastThereCanBeHasTheDefaultsOfTheParts) {
  const auto spec = parsed(least);
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(spec->name, "a");
  EXPECT_EQ(spec->folder, "/agents");
  EXPECT_EQ(spec->model.id, "m");
  EXPECT_EQ(spec->model.parameters.text(), "{}");
  EXPECT_EQ(spec->model.http.retry.total, RetryOptions{}.total);
  EXPECT_EQ(spec->permissions.write, Permit::ask);
  EXPECT_EQ(spec->permissions.read, Permit::allow);
  EXPECT_FALSE(spec->budget_micros);
  EXPECT_EQ(spec->limits, Limits{});
  EXPECT_EQ(spec->cadence.at, Cadence::At::turn);
  EXPECT_EQ(spec->on_doubt, OnDoubt::ask);
  EXPECT_EQ(spec->on_change, OnChange::ask);
  EXPECT_FALSE(spec->tools.files || spec->tools.shell || spec->tools.plan);
}

TEST(AgentFileTest, TheModelIsRead) {
  const auto spec = parsed(whole);
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(spec->name, "refunds");
  EXPECT_EQ(spec->system_prompt, "Be kind.\n");
  const ModelSpec& model = spec->model;
  EXPECT_EQ(model.provider, ProviderKind::openai);
  EXPECT_EQ(model.http.base_url, "http://127.0.0.1:8080/v1");
  EXPECT_EQ(model.parameters.text(), R"({"temperature":0.20,"stop":["END"],"max_tokens":4096})");
  EXPECT_EQ(model.key_variable, "OPENAI_API_KEY");
  EXPECT_EQ(model.http.timeouts.connect, 500ms);
  EXPECT_EQ(model.http.timeouts.first_byte, 2min);
  EXPECT_EQ(model.http.retry.total, 1h);
  EXPECT_EQ(model.http.response_bytes_max, 1'000'000U);
  EXPECT_EQ(model.http.headers.at(0).second, "money");
  EXPECT_EQ(model.http.tokens_out_max, 777);
  EXPECT_FALSE(model.sends_reasoning);
  EXPECT_EQ(model.system_role, "developer");
  EXPECT_EQ(model.cap_parameter, "n_predict");
  const auto other =
      parsed("name: a\nmodel: {provider: anthropic, id: m, version: v2, cache_hints: false}");
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_EQ(other->model.version, "v2");
  EXPECT_FALSE(other->model.cache_hints);
}

TEST(AgentFileTest, BuiltInToolsAreRead) {
  const AgentFile spec = parsed(whole).value();
  EXPECT_EQ(spec.roots.at(0).path, ".");
  EXPECT_TRUE(spec.roots.at(0).is_writable);
  EXPECT_FALSE(spec.roots.at(1).is_writable);
  EXPECT_EQ(spec.tools.files->hidden, std::vector<std::string>{"**/.env"});
  EXPECT_EQ(spec.tools.files->matches_max, 7U);
  const AgentShell& shell = *spec.tools.shell;
  EXPECT_EQ(shell.shell.sandbox, Sandbox::none);
  EXPECT_TRUE(shell.shell.has_network);
  EXPECT_EQ(shell.shell.environment.at("TERM"), "dumb");
  EXPECT_EQ(shell.pass_env, std::vector<std::string>{"HOME"});
  EXPECT_EQ(shell.shell.timeout, 5min);
  EXPECT_TRUE(spec.tools.plan && spec.tools.notes && spec.tools.ask_user);
  EXPECT_EQ(spec.scratchpad_folder, "notes");
  EXPECT_EQ(spec.secrets.at(0).file, "bank.key");
}

TEST(AgentFileTest, ProgramsAreReadWithAllTheyDeclare) {
  const AgentFile spec = parsed(whole).value();
  ASSERT_EQ(spec.tools.programs.size(), 3U);
  const AgentProgram& program = spec.tools.programs[2];
  const Tool& tool = program.exec.spec.tool;
  EXPECT_EQ(tool.name, "refund");
  EXPECT_EQ(program.exec.command, (std::vector<std::string>{"./refund", "--live", "7"}));
  EXPECT_EQ(program.exec.verify, (std::vector<std::string>{"./refund", "--look"}));
  EXPECT_EQ(tool.side_effects, (SideEffects{.network = true, .mutate = true}));
  EXPECT_TRUE(tool.honours_key);
  EXPECT_EQ(tool.key_window, Duration(24h));
  EXPECT_EQ(tool.business_key, "/order");
  EXPECT_EQ(tool.timeout, 90s);
  EXPECT_EQ(tool.verify_timeout, 5s);
  EXPECT_EQ(tool.in_flight_max, 3min);
  EXPECT_EQ(tool.attempts_max, 5);
  EXPECT_EQ(tool.blocking, Blocking::same_arguments);
  EXPECT_EQ(program.exec.error_codes, std::vector<int>{2});
  EXPECT_EQ(program.exec.nothing_codes, (std::vector<int>{3, 4}));
  EXPECT_EQ(program.exec.spec.secrets, std::vector<std::string>{"BANK"});
  EXPECT_EQ(program.exec.environment.at("MODE"), "live");
  EXPECT_EQ(program.pass_env, std::vector<std::string>{"REGION"});
  EXPECT_EQ(program.exec.spec.path_args.pointers, std::vector<std::string>{"/file"});
  EXPECT_TRUE(program.exec.spec.is_poll);
  EXPECT_EQ(program.exec.output_bytes_max, 1000U);
}

TEST(AgentFileTest, TheDefaultRepeatIsForToolsThatChangeSomething) {
  const AgentFile spec = parsed(whole).value();
  EXPECT_EQ(spec.tools.programs[0].exec.spec.tool.repeat, Repeat::each_call) << "only reads";
  EXPECT_EQ(spec.tools.programs[1].exec.spec.tool.repeat, Repeat::once_per_session);
  EXPECT_EQ(spec.tools.programs[2].exec.spec.tool.repeat, Repeat::once_per_store)
      << "says so itself";
}

TEST(AgentFileTest, TheRulesAreRead) {
  const AgentFile spec = parsed(whole).value();
  EXPECT_EQ(spec.permissions.write, Permit::allow);
  EXPECT_EQ(spec.permissions.mutate, Permit::deny);
  EXPECT_EQ(spec.permissions.network, Permit::ask);
  EXPECT_EQ(spec.permissions.tools.at(0).pattern, "refund");
  EXPECT_EQ(spec.permissions.paths.at(1).permit, Permit::deny);
  EXPECT_EQ(spec.budget_micros, 2'500'001);
  EXPECT_EQ(spec.limits.warn_percent, 50);
  EXPECT_EQ(spec.limits.iterations, 40);
  EXPECT_EQ(spec.limits.time, Duration(30min));
  EXPECT_EQ(spec.cadence.at, Cadence::At::period);
  EXPECT_EQ(spec.cadence.turns, 5);
  EXPECT_EQ(spec.on_doubt, OnDoubt::tell_model);
  EXPECT_EQ(spec.on_change, OnChange::refuse);
  EXPECT_EQ(spec.prices.at(0).second, (Price{.input = 1'750'000,
                                             .output = 14'000'000,
                                             .cache_read = 175'000,
                                             .cache_write = 1'750'000}));
}

TEST(AgentFileTest, MoneyIsExact) {
  const auto micros = [](const std::string& dollars) {
    const auto spec = parsed(least + "budget: {dollars: " + dollars + "}");
    return spec ? spec->budget_micros : std::nullopt;
  };
  EXPECT_EQ(micros("0.1"), 100'000);
  EXPECT_EQ(micros("0.000001"), 1);
  EXPECT_EQ(micros("1000000000"), 1'000'000'000'000'000);
  EXPECT_EQ(micros("5.00000000"), 5'000'000);
  EXPECT_EQ(micros("0.0000001"), std::nullopt);
  EXPECT_EQ(micros("2.50000000000000000001"), std::nullopt);
  EXPECT_EQ(micros("300000000.0000001"), std::nullopt);
  EXPECT_EQ(micros("-1"), std::nullopt);
  EXPECT_EQ(micros("-0"), 0) << "not: without a limit";
  EXPECT_EQ(micros("1e3"), std::nullopt);
  EXPECT_EQ(micros("\"5\""), std::nullopt);
}

TEST(AgentFileTest, TheSystemItWasWrittenOnDoesNotMatter) {
  std::string dos = "\xEF\xBB\xBF";
  for (const char c : least + "system_prompt: |\n  One.\n  Two.\n")
    dos += c == '\n' ? "\r\n" : std::string(1, c);
  const auto spec = parsed(dos);
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(spec->system_prompt, "One.\nTwo.\n");
}

// The schema is for editors too: whoever goes by it alone is told the same about the form.
TEST(AgentFileTest, TheSchemaAndTheReaderAgree) {
  const JsonSchema schema = JsonSchema::compile(parse_json(agent_schema()).value()).value();
  const auto is_valid = [&](const std::string& text) {
    return schema.check(agent_file::read_yaml(text).value).empty();
  };
  const std::vector<std::string> good = {least,
                                         whole,
                                         least + "cadence: call",
                                         least + "tools: {exec: {}}",
                                         least + "prices: {}",
                                         least + "system_prompt: hello"};
  for (const std::string& text : good) {
    EXPECT_TRUE(is_valid(text)) << text;
    EXPECT_TRUE(parsed(text)) << text;
  }
  const std::vector<std::string> bad = {
      "name: a",
      "name: ''\nmodel: {provider: anthropic, id: m}",
      "name: a\nmodel: {provider: other, id: m}",
      "name: a\nmodel: {provider: openai, id: m, script: x}",
      least + "cadence: {}",
      least + "system_prompt: {}",
      least + "system_prompt: null",
      least + "limits: {iterations: 0}",
      least + "limits: {iterations: 1.5}",
      least + "roots: []",
      least + "secrets: {A: {env: B, file: c}}",
      least + "secrets: {A: {}}",
      least + "budget: {dollars: 1, warn_percent: 101}",
      least + "prices: {m: {input: 1}}",
      least + "tools: {exec: {a b: {description: d, command: [c]}}}",
      least + "tools: {exec: {a: {description: d, command: []}}}",
      least + "tools: {shell: {sandbox: off-by-one}}"};
  for (const std::string& text : bad) {
    EXPECT_FALSE(is_valid(text)) << text;
    EXPECT_FALSE(parsed(text)) << text;
  }
}

TEST(AgentFileTest, AFileIsReadWithThoseBesideIt) {
  const TempFolder folder;
  std::ofstream(folder.path() / "agent.yaml") << least << "system_prompt: {file: prompt.md}\n";
  EXPECT_THAT(read_agent_file(folder.path() / "agent.yaml").error().message,
              HasSubstr("prompt.md"));
  std::ofstream(folder.path() / "prompt.md") << "Hello.\r\n";
  const auto spec = read_agent_file(folder.path() / "agent.yaml");
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(spec->system_prompt, "Hello.\n");
  EXPECT_EQ(spec->folder, folder.path().string());
  EXPECT_EQ(read_agent_file(folder.path() / "none.yaml").error().code, ErrorCode::not_found);
}

TEST(AgentFileTest, WhatCannotBeReadIsToldWithItsReason) {
  const TempFolder folder;
  const auto refusal = [&](const std::filesystem::path& path) {
    const auto read = read_agent_file(path);
    EXPECT_EQ(read.error().code, ErrorCode::unavailable) << path;
    return read.error().message;
  };
  EXPECT_THAT(refusal(folder.path()), HasSubstr("is a folder"));
  const auto pipe = folder.path() / "pipe.yaml";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(refusal(pipe), HasSubstr("no plain file")) << "nobody waits for who writes into it";
  const auto loop = folder.path() / "loop.yaml";
  std::filesystem::create_symlink(loop, loop);
  EXPECT_THAT(refusal(loop), HasSubstr("symbolic links"));
  // What nobody may read, whoever runs this: it opens, and fails to be read.
  EXPECT_THAT(refusal("/proc/self/mem"), HasSubstr("nput/output error"));
}

}  // namespace
}  // namespace perdure
