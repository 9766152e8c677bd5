// Keys: where they come from, and that they do not get out.

#include <concepts>
#include <fstream>
#include <gtest/gtest.h>
#include <optional>
#include <ostream>
#include <string>

#include "doubles/temp_folder.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/agent/tools.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"

namespace perdure {
namespace {

// By no way that a program prints, compares or stores things.
template <class T>
concept Leaks = requires(const T& value, std::ostream& out) { out << value; } ||
                std::equality_comparable<T> || std::convertible_to<T, std::string> ||
                std::convertible_to<T, Json> || requires(const T& value) { to_json(value); };
static_assert(!Leaks<ApiKey>);

TEST(ApiKey, ComesFromTheEnvironment) {
  const Environment environment = [](const std::string& name) {
    return name == "MY_KEY" ? std::optional<std::string>("sk-1\n") : std::nullopt;
  };
  EXPECT_EQ(api_key_from_environment(environment, "MY_KEY")->reveal(), "sk-1");
  const auto missing = api_key_from_environment(environment, "OTHER");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  EXPECT_EQ(missing.error().subject, "OTHER");
}

TEST(ApiKey, ComesFromAFile) {
  const TempFolder folder;
  const auto path = folder.path() / "key";
  std::ofstream(path) << "  sk-2 \r\nsecond line\n";
  EXPECT_EQ(api_key_from_file(path)->reveal(), "sk-2");
  EXPECT_EQ(api_key_from_file(folder.path() / "none").error().code, ErrorCode::not_found);
  std::ofstream(folder.path() / "empty").close();
  EXPECT_EQ(api_key_from_file(folder.path() / "empty").error().code, ErrorCode::unavailable);
}

TEST(ApiKey, WhatIsNoneIsRefusedAndNotShown) {
  for (const std::string text : {"", " \n", "sk secret", "sk-secret\r\nX-Other: 1", "secret\x01"}) {
    const auto key = ApiKey::from_text(text);
    ASSERT_FALSE(key) << text;
    EXPECT_EQ(key.error().code, ErrorCode::invalid_argument);
    EXPECT_EQ(key.error().message.find("secret"), std::string::npos);
  }
}

TEST(ApiKey, IsTakenOutOfTexts) {
  const ApiKey key = ApiKey::from_text("sk-3").value();
  EXPECT_EQ(key.scrub("a sk-3, sk-3sk-3 b"), "a [key], [key][key] b");
  EXPECT_EQ(ApiKey().scrub("a"), "a");
}

}  // namespace
}  // namespace perdure
