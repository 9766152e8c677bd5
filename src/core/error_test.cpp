// Errors: names that round-trip, and a page for each.

#include "perdure/core/error.hpp"

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

namespace perdure {
namespace {

std::string contents(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

const std::filesystem::path pages = std::filesystem::path(PERDURE_DOCS_DIR) / "errors";

TEST(ErrorCodes, EveryNameReadsBackAsItsCode) {
  std::set<std::string_view> names;
  for (const ErrorCode code : all_error_codes) {
    names.insert(to_string(code));
    EXPECT_EQ(error_code_from(to_string(code)), code) << to_string(code);
  }
  EXPECT_EQ(names.size(), all_error_codes.size());
  EXPECT_EQ(to_string(ErrorCode::lease_held), "lease_held");
}

TEST(ErrorCodes, TheListHasEveryCodeInTheOrderOfTheEnum) {
  for (std::size_t i = 0; i < all_error_codes.size(); ++i) {
    EXPECT_EQ(static_cast<std::size_t>(all_error_codes[i]), i);
  }
  EXPECT_EQ(all_error_codes.back(), ErrorCode::corrupted);
  // One past the last: a code that was added to the enum alone would have a name.
  EXPECT_EQ(to_string(static_cast<ErrorCode>(all_error_codes.size())), "unknown");
}

TEST(ErrorCodes, AnyOtherTextIsNoCode) {
  for (const std::string_view name : {"", "lease", "lease_held ", "LEASE_HELD", "unknown"}) {
    EXPECT_EQ(error_code_from(name), std::nullopt) << name;
  }
}

TEST(ErrorCodes, EveryCodeHasItsPage) {
  for (const ErrorCode code : all_error_codes) {
    const std::string name(to_string(code));
    const std::string page = contents(pages / (name + ".md"));
    EXPECT_TRUE(page.starts_with("# " + name + "\n")) << name << ".md";
    EXPECT_NE(page.find("## When you see it"), std::string::npos) << name << ".md";
    EXPECT_NE(page.find("## What to do"), std::string::npos) << name << ".md";
  }
}

TEST(ErrorCodes, TheIndexLinksEveryPageAndThereIsNoOther) {
  const std::string index = contents(pages / "README.md");
  for (const ErrorCode code : all_error_codes) {
    const std::string name(to_string(code));
    EXPECT_NE(index.find("[" + name + "](" + name + ".md)"), std::string::npos) << name;
  }
  for (const auto& file : std::filesystem::directory_iterator(pages)) {
    const std::string name = file.path().stem().string();
    EXPECT_TRUE(name == "README" || error_code_from(name).has_value()) << file.path();
  }
}

TEST(Results, AFailureCarriesCodeMessageAndSubject) {
  const Result<int> held = fail(ErrorCode::lease_held, "wrk_1 owns it", "wrk_1");
  ASSERT_FALSE(held);
  EXPECT_EQ(held.error(), (Error{ErrorCode::lease_held, "wrk_1 owns it", "wrk_1"}));

  const Result<void> missing = fail(ErrorCode::not_found, "no such session");
  ASSERT_FALSE(missing);
  EXPECT_TRUE(missing.error().subject.empty());
}

TEST(Results, AFailureIsForwardedToAnotherValueType) {
  Result<int> inner = fail(ErrorCode::conflict, "stale", "bat_1");
  const Result<std::string> outer = forward(inner);
  ASSERT_FALSE(outer);
  EXPECT_EQ(outer.error(), (Error{ErrorCode::conflict, "stale", "bat_1"}));
}

}  // namespace
}  // namespace perdure
