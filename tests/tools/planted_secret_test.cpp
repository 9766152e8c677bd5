// A planted secret goes through a real session, to a program that shouts it, and is found nowhere.

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>
#include <optional>
#include <string>

#include "core/api/text.hpp"
#include "doubles/must.hpp"
#include "doubles/temp_folder.hpp"
#include "perdure/agent/tools.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/records.hpp"

namespace perdure {
namespace {

const std::string planted = "sk-planted-7f3a9c51d2";

// Every file, with what the file system keeps about it.
std::string all_bytes_below(const std::filesystem::path& folder) {
  std::string all;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    all += entry.path().string() + std::string(std::istreambuf_iterator<char>(file), {});
  }
  return all;
}

TEST(PlantedSecret, IsFoundInNoStoreAndNoOutput) {
  const TempFolder folder;
  ExecSpec exec{
      .command = {"sh", "-c",
                  "cat > got; cat got; cat got >&2; base64 < got; touch done; exit $(cat code)"},
      .verify = {"sh", "-c", "cat; test -e done || exit 75"},
      .folder = folder.path().string(),
      .state_folder = folder.file("state")};
  exec.spec.tool.name = "shout";
  exec.spec.tool.side_effects = SideEffects{.write = true};
  exec.spec.secrets = {"TOKEN"};
  const auto tool =
      must(with_secrets(must(make_exec_tool(exec)), {{.name = "TOKEN", .variable = "V"}},
                        [](const std::string&) { return std::optional(planted); }));
  std::string told;
  // Done; nothing happened; in doubt and verified.
  for (const std::string code : {"0", "75", "1"}) {
    std::ofstream(folder.file("code")) << code;
    const auto store = must(open_store(folder.file("store-" + code + ".db")));
    const auto runtime = must(Runtime::start(*store, {.tools = must(Tools::of({tool.tool}))}));
    auto session = must(runtime->create());
    must(session.record_request({}, user_says("Shout.")));
    must(session.record_response(
        {.role = Role::assistant,
         .blocks = {ToolCallBlock{
             .id = "c", .name = "shout", .args = R"({"t": {"secret_ref": "TOKEN"}})"}}}));
    must(session.run_calls());
    for (const auto& placed : session.state().transcript) told += to_json(placed.message);
  }
  std::filesystem::remove(folder.file("got"));  // The program's own.
  EXPECT_THAT(told, ::testing::HasSubstr("[secret TOKEN]"));
  const std::string everything = told + all_bytes_below(folder.path());
  EXPECT_EQ(everything.find(planted), std::string::npos);
  EXPECT_EQ(everything.find(to_base64("{\"t\":\"" + planted).substr(4, 20)), std::string::npos);
  EXPECT_THAT(everything, ::testing::HasSubstr("secret_ref"));
}

}  // namespace
}  // namespace perdure
