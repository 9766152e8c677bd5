// Secrets get to their tool, and no further.

#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "core/api/text.hpp"
#include "doubles/temp_folder.hpp"
#include "perdure/agent/tools.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/tool.hpp"
#include "tools/process/program.hpp"
#include "tools/secret_ref.hpp"

namespace perdure {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string planted_value = "sk-\"planted\"/+secret";

Secrets secrets() {
  return Secrets::of(
             {{.name = "TOKEN", .variable = "MY_TOKEN"}, {.name = "GONE", .variable = "NOTHING"}},
             [](const std::string& name) {
               return name == "MY_TOKEN" ? std::optional(planted_value) : std::nullopt;
             })
      .value();
}

ToolSpec echoing() {
  ToolSpec spec{.secrets = {"TOKEN", "GONE"}};
  spec.tool.name = "echo";
  spec.tool.run = [](const CallContext& context) -> ToolOutcome {
    const Json* how = context.args.find("how");
    const std::string text = context.args.text();
    if (how != nullptr && *how == Json("fail")) return Failed{text};
    if (how != nullptr && *how == Json("doubt")) return Doubtful{text};
    if (how != nullptr && *how == Json("throw")) throw std::runtime_error(text);
    return Succeeded{text};
  };
  spec.tool.verify = [](const VerifyContext& context) -> Verdict {
    return Landed{context.args.text()};
  };
  return spec;
}

std::string run(const ToolSpec& spec, const std::string& args) {
  const Json given = parse_json(args).value();
  const ToolOutcome outcome = with_secrets(spec, secrets()).value().tool.run({.args = given});
  if (const auto* done = std::get_if<Succeeded>(&outcome)) return done->content;
  if (const auto* failed = std::get_if<Failed>(&outcome)) return "failed: " + failed->why;
  return "doubt: " + std::get<Doubtful>(outcome).why;
}

TEST(SecretsTest, AreFilledInAnywhereAndTakenOutOfEveryAnswer) {
  ToolSpec spec = echoing();
  std::string seen;
  spec.tool.run = [&seen](const CallContext& context) -> ToolOutcome {
    seen = *(*context.args.find("a")->as_array())[0].find("b")->as_string();
    return Succeeded{"got " + seen};
  };
  EXPECT_EQ(run(spec, R"({"a": [{"b": {"secret_ref": "TOKEN"}}]})"), "got [secret TOKEN]");
  EXPECT_EQ(seen, planted_value);
  EXPECT_EQ(run(echoing(), R"({"t": {"secret_ref": "TOKEN"}})"), R"({"t":"[secret TOKEN]"})");
  for (const auto* how : {"fail", "doubt", "throw"}) {
    const std::string args =
        std::string(R"({"t": {"secret_ref": "TOKEN"}, "how": ")") + how + "\"}";
    EXPECT_THAT(run(echoing(), args), HasSubstr("[secret TOKEN]")) << how;
    EXPECT_THAT(run(echoing(), args), Not(HasSubstr("planted"))) << how;
  }
  const Json args = parse_json(R"({"t": {"secret_ref": "TOKEN"}})").value();
  const Verdict verdict = with_secrets(echoing(), secrets()).value().tool.verify({.args = args});
  EXPECT_EQ(std::get<Landed>(verdict).content, R"({"t":"[secret TOKEN]"})");
}

TEST(SecretsTest, ThatAreNotThereFailTheCallBeforeItIsMade) {
  EXPECT_EQ(run(echoing(), R"({"t": {"secret_ref": "GONE"}})"),
            "failed: the secret \"GONE\" is not set");
}

TEST(SecretsTest, AreForToolsThatNameThem) {
  ToolSpec spec = echoing();
  spec.secrets = {"GONE"};
  EXPECT_EQ(run(spec, R"({"t": {"secret_ref": "TOKEN"}})"), R"({"t":{"secret_ref":"TOKEN"}})");
  spec.secrets = {"UNKNOWN"};
  EXPECT_FALSE(with_secrets(spec, secrets()));
}

TEST(SecretsTest, ComeFromFilesToo) {
  const TempFolder folder;
  std::ofstream(folder.file("token")) << "from-file\r\n";
  const auto made = Secrets::of(
      {{.name = "T", .file = folder.file("token")}, {.name = "U", .file = folder.file("no")}}, {});
  EXPECT_EQ(made->read("T").value(), "from-file");
  EXPECT_FALSE(made->read("U"));
  EXPECT_FALSE(made->read("V"));
}

TEST(SecretsTest, AreDeclaredOnceAndInOneWay) {
  EXPECT_FALSE(Secrets::of({{.name = "T"}}, {}));
  EXPECT_FALSE(Secrets::of({{.name = "T", .variable = "a", .file = "b"}}, {}));
  EXPECT_FALSE(Secrets::of({{.variable = "a"}}, {}));
  EXPECT_FALSE(Secrets::of({{.name = "T", .variable = "a"}, {.name = "T", .variable = "a"}}, {}));
}

TEST(SecretsTest, AreKnownInOtherForms) {
  const std::map<std::string, std::string> all = {{"T", planted_value}, {"SHORT", "abc"}};
  for (const std::string before : {"", "x", "xy", "user:"}) {
    EXPECT_THAT(scrubbed(to_base64(before + planted_value + "!"), all), HasSubstr("[secret T]"))
        << before;
  }
  EXPECT_EQ(scrubbed("a=sk-%22planted%22%2F%2Bsecret&b", all), "a=[secret T]&b");
  EXPECT_EQ(scrubbed("abc", all), "abc");
  EXPECT_EQ(scrubbed(planted_value + planted_value, all), "[secret T][secret T]");
}

TEST(SecretsTest, AreKnownWhereTheyAreCut) {
  const std::map<std::string, std::string> all = {{"T", "abcdefghijkl"}};
  for (std::size_t bytes = 4; bytes < 60; ++bytes) {
    CappedText text(bytes);
    for (int i = 0; i < 20; ++i) text.add("abcdefghijkl ");
    const std::string clean = scrubbed(text.text(), all);
    EXPECT_THAT(clean, Not(HasSubstr("abcd"))) << bytes;
    EXPECT_THAT(clean, Not(HasSubstr("ijkl"))) << bytes << clean;
  }
  EXPECT_EQ(scrubbed("ends with abcdefgh", all), "ends with [secret T]");
}

// What a tool tells of itself while it runs, `told` being what it says.
std::string heard_of(const std::string& told, const std::string& secret) {
  std::string heard;
  ToolSpec spec{};
  spec.tool.run = [&](const CallContext& context) -> ToolOutcome {
    context.progress(told);
    return Succeeded{};
  };
  const ToolSpec silent = without_secrets(spec, [&] { return SecretValues{{"TOKEN", secret}}; });
  const Json none = Json::Object{};
  const ToolProgress progress([&](std::string_view line) { heard += line; });
  EXPECT_TRUE(
      std::holds_alternative<Succeeded>(silent.tool.run({.args = none, .progress = progress})));
  return heard;
}

TEST(SecretsTest, AreTakenOutOfProgressAsOutOfResults) {
  EXPECT_EQ(heard_of("it is " + planted_value + ".", planted_value), "it is [secret TOKEN].");
  EXPECT_EQ(heard_of("in base64 " + to_base64(planted_value + " "), planted_value)
                .find(to_base64(planted_value)),
            std::string::npos);
  EXPECT_EQ(heard_of("cut: " + planted_value.substr(0, 9), planted_value), "cut: [secret TOKEN]");
  EXPECT_EQ(heard_of("nothing", planted_value), "nothing");
}

TEST(SecretsTest, OfSeveralLinesAreNotToldLineByLine) {
  const std::string key = "-----BEGIN KEY-----\r\nMIIEvQIBADANBgkq\n-----END KEY-----";
  EXPECT_EQ(heard_of("MIIEvQIBADANBgkq", key), "[secret TOKEN]");
  EXPECT_EQ(heard_of("the line MIIEvQIBADANBgkq.", key), "the line [secret TOKEN].");
}

TEST(SecretsTest, ThatWereFilledInAreTakenOutOfProgress) {
  ToolSpec spec = echoing();
  ToolProgress kept;
  spec.tool.run = [&](const CallContext& context) -> ToolOutcome {
    context.progress(*context.args.find("a")->as_string());
    kept = context.progress;
    return Succeeded{};
  };
  std::string heard;
  const Json given = parse_json(R"({"a": {"secret_ref": "TOKEN"}})").value();
  const ToolProgress progress([&](std::string_view line) { heard += line; });
  with_secrets(spec, secrets()).value().tool.run({.args = given, .progress = progress});
  EXPECT_EQ(heard, "[secret TOKEN]");
  kept("later: " + planted_value);
  EXPECT_EQ(heard, "[secret TOKEN]later: [secret TOKEN]");
}

}  // namespace
}  // namespace perdure
