// What is made of an agent file.

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "agent/api/agent_file.hpp"
#include "doubles/temp_folder.hpp"
#include "perdure/agent/agent.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/agent/tools.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "tools/check/paths.hpp"

namespace perdure {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class AgentPartsTest : public testing::Test {
 protected:
  AgentPartsTest() {
    std::filesystem::create_directories(folder_.path() / "work");
    write("work/open.txt", "needle");
    write("work/closed.txt", "needle");
  }

  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder_.path() / name) << text;
  }

  AgentFile spec(const std::string& more,
                 const std::string& model = "{provider: anthropic, id: m}") {
    write("agent.yaml", "name: a\nmodel: " + model + "\n" + more);
    auto read = read_agent_file(folder_.path() / "agent.yaml");
    if (!read) ADD_FAILURE() << read.error().message;
    return read.value_or(AgentFile{});
  }

  AgentPlace place() {
    return {.environment = environment(), .state_folder = (folder_.path() / "state").string()};
  }

  Environment environment() {
    return [this](const std::string& name) -> std::optional<std::string> {
      const auto found = variables_.find(name);
      return found == variables_.end() ? std::nullopt : std::optional(found->second);
    };
  }

  std::string run(const Toolbox& tools, const std::string& name, const std::string& args) {
    const Json json = parse_json(args).value();
    const CallContext context{.call = 1, .args = json, .key = "k"};
    const ToolOutcome outcome = tools.tools().find(name)->run(context);
    if (const auto* done = std::get_if<Succeeded>(&outcome)) return done->content;
    const auto* failed = std::get_if<Failed>(&outcome);
    return failed == nullptr ? std::get<Doubtful>(outcome).why : failed->why;
  }

  TempFolder folder_;
  std::map<std::string, std::string> variables_;
};

TEST_F(AgentPartsTest, TheToolboxHasTheToolsOfTheFileInOneOrder) {
  const AgentFile made = spec(R"(roots: [{path: work, writable: true}]
tools:
  exec: {zeta: {description: z, command: [sh]}, alpha: {description: a, command: [sh]}}
  ask_user: true
  notes: true
  plan: true
  shell: {}
  files: {}
)");
  const auto tools = make_toolbox(made, place());
  ASSERT_TRUE(tools) << tools.error().message;
  std::vector<std::string> names;
  for (const auto& tool : tools->definitions()) names.push_back(tool.name);
  EXPECT_THAT(names, ElementsAre("read_file", "list_files", "search_files", "write_file",
                                 "edit_file", "shell", "plan_create", "plan_show", "step_update",
                                 "postcondition_verify", "note_write", "note_read", "note_list",
                                 "note_delete", "ask_user", "alpha", "zeta"));
}

TEST_F(AgentPartsTest, PathsAreRelativeToTheFile) {
  write("hello.sh", "#!/bin/sh\npwd\n");
  std::filesystem::permissions(folder_.path() / "hello.sh", std::filesystem::perms::owner_all);
  const auto tools = make_toolbox(spec(R"(tools:
  exec:
    here: {description: d, command: [./hello.sh], side_effects: [read]}
    below: {description: d, command: [./hello.sh], folder: work, side_effects: [read]}
)"),
                                  place());
  ASSERT_TRUE(tools) << tools.error().message;
  const std::string folder = std::filesystem::canonical(folder_.path()).string();
  EXPECT_EQ(run(*tools, "here", "{}"), folder + "\n");
  EXPECT_EQ(run(*tools, "below", "{}"), folder + "/work\n");
}

TEST_F(AgentPartsTest, AProgramGetsItsVariablesAndNoOthers) {
  variables_ = {{"PASSED", "one"}, {"OTHER", "two"}, {"TOKEN", "planted"}};
  const AgentFile made = spec(R"(secrets: {T: {env: TOKEN}}
tools:
  exec:
    show:
      description: d
      command: [sh, -c, "echo $PASSED.$OTHER.$SET; cat"]
      side_effects: [read]
      env: {SET: three}
      pass_env: [PASSED]
      secrets: [T]
)");
  const auto tools = make_toolbox(made, place());
  ASSERT_TRUE(tools) << tools.error().message;
  EXPECT_EQ(run(*tools, "show", R"({"t":{"secret_ref":"T"}})"),
            "one..three\n{\"t\":\"[secret T]\"}");
  variables_.erase("PASSED");
  EXPECT_EQ(make_toolbox(made, place()).error().code, ErrorCode::not_found);
}

TEST_F(AgentPartsTest, WhatIsDeniedIsHiddenFromASearch) {
  const auto tools = make_toolbox(spec(R"(roots: [{path: work}]
tools: {files: {}}
permissions: {paths: {"closed.*": deny}}
)"),
                                  place());
  ASSERT_TRUE(tools) << tools.error().message;
  const std::string found = run(*tools, "search_files", R"({"pattern":"needle"})");
  EXPECT_THAT(found, HasSubstr("open.txt"));
  EXPECT_THAT(found, testing::Not(HasSubstr("closed.txt")));
}

TEST_F(AgentPartsTest, ASearchPassesOverWhatIsAskedAboutUnlessItIsNamed) {
  std::filesystem::create_directories(folder_.path() / "work/diary");
  write("work/diary/monday.txt", "needle");
  const auto tools = make_toolbox(spec(R"(roots: [{path: work}]
tools: {files: {}}
permissions: {paths: {"closed.*": ask, "diary/**": ask}}
)"),
                                  place());
  ASSERT_TRUE(tools) << tools.error().message;
  const std::string found = run(*tools, "search_files", R"({"pattern":"needle"})");
  EXPECT_THAT(found, HasSubstr("open.txt"));
  EXPECT_THAT(found, testing::Not(HasSubstr("closed.txt")));
  EXPECT_THAT(found, testing::Not(HasSubstr("monday.txt")));
  EXPECT_THAT(found, HasSubstr("asked about: 2"));
  EXPECT_THAT(run(*tools, "list_files", "{}"), HasSubstr("closed.txt"));
  EXPECT_EQ(run(*tools, "search_files", R"({"pattern":"needle","path":"diary"})"),
            "diary/monday.txt:1: needle\n");
}

TEST_F(AgentPartsTest, NoToolForFilesSeesKeysNorWritesTheAgent) {
  write("work/.key", "needle of a key");
  std::filesystem::create_directories(folder_.path() / "work/deep");
  write("work/deep/token", "needle of a secret");
  write("work/store.db", "needle");
  write("work/prompt.md", "Hello.");
  write("work/tool.sh", "#!/bin/sh\n");
  std::filesystem::permissions(folder_.path() / "work/tool.sh", std::filesystem::perms::owner_all);
  // However one gets there.
  std::filesystem::create_directory_symlink("work", folder_.path() / "link");
  for (const std::string way : {"work", "link"}) {
    const std::string other = way == "work" ? "link" : "work";
    AgentPlace there = place();
    there.hidden = {(folder_.path() / other / "store.db").string()};
    const AgentFile made = spec("roots: [{path: " + way + R"(, writable: true}]
system_prompt: {file: )" + other + R"(/prompt.md}
secrets: {T: {file: )" + other + R"(/deep/token}}
tools: {files: {}, exec: {t: {description: d, command: [)" +
                                    other + R"(/tool.sh]}}}
)",
                                "{provider: anthropic, id: m, key: {file: " + other + "/.key}}");
    const auto tools = make_toolbox(made, there);
    ASSERT_TRUE(tools) << tools.error().message;
    for (const std::string path : {".key", "./deep//token", "store.db", "deep/../.key"}) {
      const std::string named = R"({"path":")" + path + R"(")";
      EXPECT_THAT(run(*tools, "read_file", named + "}"), HasSubstr("is not for this tool"));
      EXPECT_THAT(run(*tools, "write_file", named + R"(,"content":""})"),
                  HasSubstr("is not for this tool"));
      EXPECT_THAT(run(*tools, "edit_file", named + R"(,"old_text":"n","new_text":""})"),
                  HasSubstr("is not for this tool"));
    }
    EXPECT_EQ(run(*tools, "search_files", R"({"pattern":"needle"})"),
              "closed.txt:1: needle\nopen.txt:1: needle\n");
    EXPECT_EQ(run(*tools, "list_files", R"({"path":"deep"})"), "[the folder is empty]");
    EXPECT_THAT(run(*tools, "list_files", "{}"), testing::Not(HasSubstr("key")));
    for (const std::string path : {"prompt.md", "tool.sh"}) {
      const std::string named = R"({"path":")" + path + R"(")";
      EXPECT_THAT(run(*tools, "write_file", named + R"(,"content":""})"),
                  HasSubstr("is only read"));
      EXPECT_THAT(run(*tools, "edit_file", named + R"(,"old_text":"l","new_text":""})"),
                  HasSubstr("is only read"));
      EXPECT_THAT(run(*tools, "read_file", named + "}"), testing::Not(HasSubstr("not for")));
    }
  }
}

TEST_F(AgentPartsTest, AnAgentDoesNotWriteItsOwnFile) {
  const auto tools =
      make_toolbox(spec("roots: [{path: ., writable: true}]\ntools: {files: {}}\n"), place());
  ASSERT_TRUE(tools) << tools.error().message;
  const std::string edit = R"({"path":"agent.yaml","old_text":"name: a","new_text":"name: b"})";
  EXPECT_EQ(run(*tools, "edit_file", edit), "agent.yaml is only read");
  EXPECT_THAT(run(*tools, "read_file", R"({"path":"agent.yaml"})"), HasSubstr("name: a"));
}

// A program runs outside the sandbox; so does what it is told to run.
TEST_F(AgentPartsTest, NothingThatAProgramIsToldToRunIsWritten) {
  std::filesystem::create_directories(folder_.path() / "work/deep");
  for (const std::string name : {"tool.sh", "check.sh", "deep/far.sh", "ca.pem"}) {
    write("work/" + name, "echo whole\n");
  }
  std::filesystem::create_symlink("tool.sh", folder_.path() / "work/link.sh");
  const auto tools = make_toolbox(spec(R"(roots: [{path: work, writable: true}]
tools:
  files: {}
  shell: {}
  exec:
    one:
      description: d
      command: [sh, work/link.sh, work]
      verify: [sh, -e, work/check.sh]
      side_effects: [mutate]
    two: {description: d, command: [sh, ../work/deep/far.sh], folder: work, side_effects: [read]}
)",
                                       "{provider: anthropic, id: m, ca_file: work/ca.pem}"),
                                  place());
  ASSERT_TRUE(tools) << tools.error().message;
  for (const std::string path : {"tool.sh", "link.sh", "check.sh", "deep/far.sh", "ca.pem"}) {
    EXPECT_EQ(run(*tools, "write_file", R"({"path":")" + path + R"(","content":"echo mine"})"),
              path + " is only read");
    run(*tools, "shell", R"({"command":"echo echo mine > )" + path + R"("})");
  }
  run(*tools, "shell", R"({"command":"mv deep away; mkdir deep; echo echo mine > deep/far.sh"})");
  EXPECT_EQ(run(*tools, "one", "{}"), "whole\n");
  EXPECT_EQ(run(*tools, "two", "{}"), "whole\n");
  EXPECT_THAT(run(*tools, "write_file", R"({"path":"new.sh","content":""})"),
              testing::Not(HasSubstr("only read")))
      << "a folder that is named is no file";
}

// Which store the user's next command works in is not the model's to say.
TEST_F(AgentPartsTest, NoToolForFilesMakesASettingOfTheCommandLine) {
  for (const std::string roots : {"{path: work, writable: true}",
                                  "{path: work, writable: true, name: w}, {path: ., name: o}"}) {
    const auto tools = make_toolbox(spec("roots: [" + roots + "]\ntools: {files: {}}\n"), place());
    ASSERT_TRUE(tools) << tools.error().message;
    const std::string root = roots.contains("name") ? "w/" : "";
    for (const std::string path : {".perdure", ".perdure/config", "a/b/.perdure/config"}) {
      const std::string call = R"({"path":")" + root + path + R"(","content":"store = mine.db"})";
      EXPECT_THAT(run(*tools, "write_file", call), HasSubstr("is not for this tool")) << call;
      EXPECT_FALSE(std::filesystem::exists(folder_.path() / "work" / path));
    }
  }
}

TEST_F(AgentPartsTest, WholePathsThatAreDeniedAreHiddenToo) {
  const std::string folder = (folder_.path() / "work").string();
  const auto tools = make_toolbox(spec("roots: [{path: work}]\ntools: {files: {}}\npermissions: "
                                       "{paths: {\"" +
                                       folder + "/closed.*\": deny}}\n"),
                                  place());
  ASSERT_TRUE(tools) << tools.error().message;
  EXPECT_EQ(run(*tools, "search_files", R"({"pattern":"needle"})"), "open.txt:1: needle\n");
}

TEST_F(AgentPartsTest, ThePathsOfAProgramAreThoseOfItsFolder) {
  const AgentFile made = spec(R"(roots: [{path: .}]
tools:
  exec:
    show: {description: d, command: [cat], side_effects: [read], folder: work, path_args: [/file]}
permissions: {paths: {"work/closed.*": deny}}
)");
  const auto tools = make_toolbox(made, place());
  ASSERT_TRUE(tools) << tools.error().message;
  const CheckedTool* tool = tools->find("show");
  const auto permit = [&](const std::string& path) {
    return decide_permit(made.permissions, tool->spec.tool, tool->spec.path_args,
                         Json(Json::Object{{"file", path}}))
        .permit;
  };
  EXPECT_EQ(permit("closed.txt"), Permit::deny);
  EXPECT_EQ(permit("../work/closed.txt"), Permit::deny);
  EXPECT_EQ(permit((folder_.path() / "work/closed.txt").string()), Permit::deny);
  EXPECT_EQ(permit("open.txt"), Permit::allow);
}

TEST_F(AgentPartsTest, WhatToolsArePassedIsNotInTheirAnswers) {
  variables_ = {{"MY_TOKEN", "tok-1"},
                {"OTHER", "v3ry-private"},
                {"MODE", "production"},
                {"KEY", "sk-planted-1"},
                {"HOME", folder_.path().string()}};
  write("work/.env", "KEY=sk-planted-1\n");
  const AgentFile made = spec(R"(roots: [{path: work}]
tools:
  files: {}
  shell: {sandbox: none, pass_env: [MY_TOKEN, OTHER, MODE, HOME]}
  exec:
    show:
      description: d
      command: [sh, -c, "echo $MY_TOKEN $OTHER $MODE $HOME; cat work/.env"]
      side_effects: [read]
      pass_env: [MY_TOKEN, OTHER, MODE, HOME]
)",
                              "{provider: anthropic, id: m, key: {env: KEY}}");
  const auto tools = make_toolbox(made, place());
  ASSERT_TRUE(tools) << tools.error().message;
  const std::string expected = "[secret MY_TOKEN] [secret OTHER] production " +
                               folder_.path().string() + "\nKEY=[secret model.key]\n";
  EXPECT_EQ(run(*tools, "show", "{}"), expected);
  EXPECT_EQ(run(*tools, "shell", R"({"command":"echo $MY_TOKEN $OTHER $MODE $HOME; cat .env"})"),
            expected);
  EXPECT_EQ(run(*tools, "read_file", R"({"path":".env"})"), "KEY=[secret model.key]\n");
}

TEST_F(AgentPartsTest, TheAgentIsTheOneOfTheFile) {
  const AgentFile made = spec(R"(system_prompt: Hello.
roots: [{path: work}]
tools: {files: {}, notes: true}
scratchpad: {folder: pad}
permissions: {read: ask}
budget: {dollars: 0.5, warn_percent: 60}
limits: {iterations: 7, time: 3m}
cadence: call
on_doubt: tell_model
on_change: refuse
prices: {gpt-5: {input: 9, output: 10}}
)",
                              "{provider: openai, id: m, parameters: {seed: 7}}");
  const auto agent = make_agent_spec(made, place(), {.clock = system_clock(), .ids = random_ids()});
  ASSERT_TRUE(agent) << agent.error().message;
  EXPECT_EQ(agent->setup.system_prompt, "Hello.");
  EXPECT_EQ(agent->setup.model, "m");
  EXPECT_EQ(agent->setup.parameters.text(), R"({"seed":7})");
  EXPECT_EQ(agent->setup.tools, agent->tools.definitions());
  EXPECT_EQ(agent->tools.names().size(), 7U);
  EXPECT_EQ(agent->scratchpad_folder, made.folder + "/pad");
  EXPECT_EQ(agent->permissions.read, Permit::ask);
  EXPECT_EQ(agent->budget_micros, 500'000);
  EXPECT_EQ(agent->limits.warn_percent, 60);
  EXPECT_EQ(agent->limits.iterations, 7);
  EXPECT_EQ(agent->limits.time, Duration(180'000));
  EXPECT_EQ(agent->cadence.at, Cadence::At::call);
  EXPECT_EQ(agent->on_doubt, OnDoubt::tell_model);
  EXPECT_EQ(agent->on_change, OnChange::refuse);
  EXPECT_EQ(agent->digest, agent_digest(made));
  EXPECT_EQ(agent->prices.find("gpt-5")->input, 9'000'000) << "over the one that is built in";
  EXPECT_TRUE(agent->prices.find("gpt-5-mini"));
}

TEST_F(AgentPartsTest, TheProviderIsTheOneOfTheFile) {
  write("script.json", R"({"responses": [{"text": "It is blue."}]})");
  const ModelServices services{.clock = system_clock(), .ids = random_ids()};
  const AgentFile made = spec("", "{provider: scripted, script: script.json}");
  auto provider = make_provider(made, environment(), services);
  ASSERT_TRUE(provider) << provider.error().message;
  const perdure::Setup setup;
  const std::vector<Message> messages = {user_says("Why?")};
  ASSERT_TRUE((*provider)->prepare({.setup = setup, .messages = messages}));
  ModelObserver observer;
  const ModelOutcome outcome = (*provider)->send(observer, {});
  ASSERT_TRUE(std::holds_alternative<ModelResponse>(outcome));

  const AgentFile keyed = spec("", "{provider: anthropic, id: m, key: {env: KEY}}");
  EXPECT_EQ(make_provider(keyed, environment(), services).error().code, ErrorCode::not_found);
  variables_["KEY"] = "sk-1";
  EXPECT_TRUE(make_provider(keyed, environment(), services));
  const AgentFile open =
      spec("", "{provider: openai, id: m, key: {env: KEY}, base_url: \"http://example.com/v1\"}");
  EXPECT_FALSE(make_provider(open, environment(), services)) << "a key over an open line";
}

TEST_F(AgentPartsTest, AResponseIsAsLongAsTheFileSays) {
  const ModelServices services{.clock = system_clock(), .ids = random_ids()};
  for (const std::string provider : {"anthropic", "openai"}) {
    const AgentFile made = spec("", "{provider: " + provider + ", id: m, tokens_out_max: 777}");
    auto model = make_provider(made, environment(), services);
    ASSERT_TRUE(model) << model.error().message;
    const perdure::Setup setup{.model = "m"};
    const std::vector<Message> messages = {user_says("Why?")};
    const auto request = (*model)->prepare({.setup = setup, .messages = messages});
    ASSERT_TRUE(request) << request.error().message;
    EXPECT_EQ(request->tokens_out, 777) << provider;
  }
}

// By the size of the body: the name is all that differs.
TEST_F(AgentPartsTest, TheServerIsToldItsLimitInTheWordThatTheFileSays) {
  const ModelServices services{.clock = system_clock(), .ids = random_ids()};
  const perdure::Setup setup{.model = "m"};
  const std::vector<Message> messages = {user_says("Why?")};
  const auto bytes_of = [&](const std::string& rest) {
    const AgentFile made = spec("", "{provider: openai, id: m" + rest + "}");
    const auto model = make_provider(made, environment(), services);
    return (*model)->prepare({.setup = setup, .messages = messages, .is_capped = true})->bytes;
  };
  EXPECT_EQ(bytes_of(", cap_parameter: max_completion_tokens"), bytes_of(""));
  EXPECT_EQ(bytes_of(", cap_parameter: n_predict") + std::string("max_completion_tokens").size(),
            bytes_of("") + std::string("n_predict").size());
}

TEST_F(AgentPartsTest, AToolThatIsNotThereIsRefused) {
  const AgentFile missing =
      spec("tools: {exec: {a: {description: d, command: [no-such-program]}}}");
  EXPECT_EQ(make_toolbox(missing, place()).error().code, ErrorCode::not_found);
}

}  // namespace
}  // namespace perdure
