// What a session remembers of its agent, and whose model is meant.

#include "context/agent_source.hpp"

#include <gtest/gtest.h>
#include <map>
#include <optional>
#include <string>

#include "agent/api/agent_file.hpp"
#include "doubles/must.hpp"
#include "perdure/core/error.hpp"

namespace perdure::cli {
namespace {

class AgentSourceTest : public testing::Test {
 protected:
  Result<AgentFile> load(const AgentSource& source) {
    loaded = source;
    return load_agent(loaded, [this](const std::string& name) -> std::optional<std::string> {
      const auto found = environment.find(name);
      return found == environment.end() ? std::nullopt : std::optional(found->second);
    });
  }

  std::map<std::string, std::string> environment;
  AgentSource loaded;  ///< As loading left it.
};

TEST_F(AgentSourceTest, IsRememberedBesideWhatElseTheMetadataHolds) {
  const AgentSource source{.file = "/agents/a.yaml", .model = "m", .base_url = "http://there"};
  const std::string metadata = with_source(R"({"mine": 1, "agent": {"file": "old"}})", source);
  EXPECT_EQ(source_in(metadata), source);
  EXPECT_TRUE(metadata.contains(R"("mine":1)")) << metadata;
  EXPECT_FALSE(metadata.contains("old")) << metadata;
}

TEST_F(AgentSourceTest, MetadataThatSaysNothingIsNoSource) {
  for (const std::string metadata : {"{}", "[]", "", R"({"agent": 1})", R"({"agent": {}})"}) {
    EXPECT_EQ(source_in(metadata), std::nullopt) << metadata;
  }
}

TEST_F(AgentSourceTest, TheModelsNameSaysWhoseItIs) {
  EXPECT_EQ(must(load({.model = "claude-sonnet-5-5"})).model.provider, ProviderKind::anthropic);
  EXPECT_EQ(must(load({.model = "claude-sonnet-5-5"})).model.key_variable, "ANTHROPIC_API_KEY");
  EXPECT_EQ(must(load({.model = "gpt-6"})).model.provider, ProviderKind::openai);
  EXPECT_EQ(must(load({.model = "gpt-6", .provider = "anthropic"})).model.provider,
            ProviderKind::anthropic);
}

TEST_F(AgentSourceTest, OtherwiseTheKeyThatIsThereDoes) {
  EXPECT_EQ(load({.model = "qwen"}).error().code, ErrorCode::invalid_argument);
  environment["ANTHROPIC_API_KEY"] = "k";
  EXPECT_EQ(must(load({.model = "qwen"})).model.provider, ProviderKind::anthropic);
  environment["OPENAI_API_KEY"] = "k";
  EXPECT_EQ(load({.model = "qwen"}).error().code, ErrorCode::invalid_argument);
}

TEST_F(AgentSourceTest, AServerOfOnesOwnNeedsNoKey) {
  const AgentSource source{.model = "qwen", .base_url = "http://127.0.0.1:8080/v1"};
  const ModelSpec model = must(load(source)).model;
  EXPECT_EQ(model.provider, ProviderKind::openai);
  EXPECT_EQ(model.http.base_url, source.base_url);
  EXPECT_EQ(model.key_variable, "");
}

TEST_F(AgentSourceTest, AServerOfTheEnvironmentIsAskedAndRemembered) {
  environment["OPENAI_BASE_URL"] = "http://127.0.0.1:8080/v1";
  const ModelSpec model = must(load({.model = "qwen"})).model;
  EXPECT_EQ(model.provider, ProviderKind::openai);
  EXPECT_EQ(model.http.base_url, "http://127.0.0.1:8080/v1");
  EXPECT_EQ(model.key_variable, "");
  EXPECT_EQ(loaded.base_url, "http://127.0.0.1:8080/v1");
  EXPECT_EQ(loaded.provider, "openai");
  EXPECT_EQ(must(load({.model = "claude-sonnet-5-5"})).model.http.base_url, "")
      << "it is not of them";
  environment = {{"ANTHROPIC_BASE_URL", "http://127.0.0.1:8081"}};
  EXPECT_EQ(must(load({.model = "qwen"})).model.provider, ProviderKind::anthropic);
  EXPECT_EQ(must(load({.model = "qwen", .base_url = "http://there"})).model.http.base_url,
            "http://there");
}

}  // namespace
}  // namespace perdure::cli
