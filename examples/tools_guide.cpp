// The tools of an agent: programs, files, a shell, a plan; the checks before a call, and its outcome.
// docs/tools.md shows the parts of this file.

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <perdure/agent/tools.hpp>
#include <perdure/runtime/runtime.hpp>
#include <perdure/store/store.hpp>

using namespace perdure;

namespace {

// [exec]
ToolSpec deploy_tool(const std::string& folder) {
  ExecSpec exec{
      .command = {"sh", "-c", "cat >> deployed; echo \" $PERDURE_KEY\" >> deployed; echo live"},
      .verify = {"sh", "-c", "grep -q \"$PERDURE_KEY\" deployed && echo live || exit 75"},
      .folder = folder,
      .state_folder = folder + "/state"};
  exec.spec.tool.name = "deploy";
  exec.spec.tool.description = "Puts a version into production.";
  exec.spec.tool.input_schema =
      R"({"type": "object", "required": ["version"], "additionalProperties": false,
    "properties": {"version": {"type": "string", "pattern": "^v[0-9]+$"}, "token": {"type": "string"}}})";
  exec.spec.tool.side_effects = SideEffects{.write = true};
  exec.spec.secrets = {"DEPLOY_TOKEN"};
  return make_exec_tool(std::move(exec)).value();
}
// [end]

// [secrets]
ToolSpec with_token(ToolSpec tool) {
  const Environment environment = [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
  return with_secrets(std::move(tool), {{.name = "DEPLOY_TOKEN", .variable = "DEPLOY_TOKEN"}},
                      environment)
      .value();
}
// [end]

// [toolbox]
Toolbox make_toolbox(const std::string& folder) {
  std::vector<ToolSpec> tools =
      make_file_tools(
          {.roots = {{.path = folder + "/work", .is_writable = true}}, .hidden = {"**/.env"}})
          .value();
  for (const ToolSpec& tool : make_plan_tools()) tools.push_back(tool);
  tools.push_back(make_ask_tool());
  tools.push_back(with_token(deploy_tool(folder)));
  tools.push_back(make_shell_tool({.roots = {{.path = folder + "/work", .is_writable = true}},
                                   .state_folder = folder + "/state"})
                      .value());
  return Toolbox::of(std::move(tools)).value();
}
// [end]

// [permissions]
Permissions make_permissions() {
  return {
      .write = Permit::ask,
      .tools = {{"deploy", Permit::allow}},
      .paths = {{"**", Permit::allow}, {"secret/**", Permit::deny}, {"**/*.lock", Permit::ask}}};
}
// [end]

// [check]
void show(const Toolbox& tools, const std::string& name, const std::string& args,
          std::size_t in_a_row = 1) {
  const PermitDecision check =
      check_call(tools, make_permissions(), {.name = name, .args = args}, in_a_row);
  if (check.permit == Permit::allow) std::cout << "go\n";
  if (check.permit == Permit::ask) std::cout << "ask: " << check.why << '\n';
  if (check.permit == Permit::deny) std::cout << check.why << '\n';
}
// [end]

void show_session(const Toolbox& tools) {
  // [session]
  const auto store = open_store("tools.db").value();
  const auto runtime = Runtime::start(*store, {.tools = tools.tools()}).value();
  auto session = runtime->create({.setup = Setup{.tools = tools.definitions()}}).value();
  session.record_request({}, user_says("Deploy version 7.")).value();
  session
      .record_response(
          {.role = Role::assistant,
           .blocks = {ToolCallBlock{.id = "1",
                                    .name = "plan_create",
                                    .args = R"({"objective": "v7 is live", "steps": ["deploy"]})"},
                      ToolCallBlock{
                          .id = "2",
                          .name = "deploy",
                          .args = R"({"version": "v7", "token": {"secret_ref": "DEPLOY_TOKEN"}})"},
                      ToolCallBlock{
                          .id = "3",
                          .name = "step_update",
                          .args =
                              R"({"step": "s1", "status": "done", "evidence": "it says live"})"}}})
      .value();
  session.run_calls().value();
  // [end]
  const auto calls = store->ledger().list({}).value();
  for (const Call& call : calls) {
    std::cout << call.tool << ": " << to_string(call.state) << '\n';
  }
  std::cout << "finished: " << session.state().plan->is_ready_to_finish() << '\n';
}

}  // namespace

int main() {
  const std::string folder = std::filesystem::current_path().string();
  std::filesystem::create_directories(folder + "/work");
  const Toolbox tools = make_toolbox(folder);
  show(tools, "readfile", R"({"path": "a"})");
  show(tools, "read_file", R"({"path": "a")");
  show(tools, "deploy", R"({"version": "7"})");
  show(tools, "read_file", R"({"path": "x/../secret/key"})");
  show(tools, "write_file", R"({"path": "yarn.lock", "content": ""})");
  show(tools, "write_file", R"({"path": "notes.txt", "content": ""})");
  show(tools, "read_file", R"({"path": "a"})", 3);
  show_session(tools);
}
