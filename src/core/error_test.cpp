// Errors: names that round-trip, and a page for each.

#include "perdure/core/error.hpp"

#include <cstddef>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/api/error_codes.hpp"
#include "doubles/places.hpp"

namespace perdure {
namespace {

std::string contents(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

const std::filesystem::path pages = std::filesystem::path(repository_root()) / "docs/errors";

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

TEST(Results, ACopyIsTheSameWhateverItIsCopiedFrom) {
  Result<bool> no = false;
  const Result<bool> fixed = no;
  EXPECT_EQ(*Result<bool>(no), false) << "and not whether there is a value";
  EXPECT_EQ(*Result<bool>(fixed), false);
  EXPECT_EQ(*Result<bool>(std::move(fixed)), false);  // NOLINT(performance-move-const-arg)
  Result<bool> copy = no;
  EXPECT_EQ(*copy, false);
  copy = true;
  copy = no;
  EXPECT_EQ(*copy, false);
  EXPECT_EQ(*Result<bool>(std::move(no)), false);
  Result<bool> failed = fail(ErrorCode::closed, "closed");
  const Result<bool> again = failed;
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::closed);
}

TEST(Results, AValueBecomesAResultAndAFailureOfAnother) {
  const Result<std::string> text = "text";
  EXPECT_EQ(*text, "text");
  const Result<std::optional<int>> none = std::nullopt;
  ASSERT_TRUE(none);
  EXPECT_FALSE(*none);
  const Result<std::int64_t> wide = Result<int>(7);
  EXPECT_EQ(*wide, 7);
  const Result<void> done;
  EXPECT_TRUE(done);
  const Result<void> not_done = fail(ErrorCode::conflict, "no");
  EXPECT_FALSE(not_done);
  Result<std::unique_ptr<int>> owner = std::make_unique<int>(7);
  const Result<std::unique_ptr<int>> next = std::move(owner);
  EXPECT_EQ(**next, 7);
}

TEST(Results, AreComparedWithResultsValuesAndErrors) {
  const Result<int> seven = 7;
  const Result<int> failed = fail(ErrorCode::closed, "closed");
  EXPECT_EQ(seven, Result<int>(7));
  EXPECT_NE(seven, Result<int>(8));
  EXPECT_NE(seven, failed);
  EXPECT_EQ(seven, 7);
  EXPECT_EQ(failed, std::unexpected(Error{ErrorCode::closed, "closed", ""}));
  EXPECT_EQ(Result<void>(), Result<void>());
}

TEST(Results, AFailureIsThrownOnRequestWithItsCodeMessageAndSubject) {
  const auto thrown_by = [](auto&& result) -> Error {
    try {
      static_cast<void>(std::forward<decltype(result)>(result).value_or_throw());
    } catch (const Failure& failure) {
      return {failure.code(), failure.what(), failure.subject()};
    }
    return {ErrorCode::invalid_argument, "nothing was thrown", ""};
  };
  const Error held{ErrorCode::lease_held, "wrk_1 owns it", "wrk_1"};
  const Result<int> fixed = std::unexpected(held);
  Result<int> changing = fixed;
  const Result<void> fixed_void = std::unexpected(held);
  Result<void> changing_void = fixed_void;
  EXPECT_EQ(thrown_by(fixed), held);
  EXPECT_EQ(thrown_by(changing), held);
  EXPECT_EQ(thrown_by(Result<int>(fixed)), held);
  EXPECT_EQ(thrown_by(fixed_void), held);
  EXPECT_EQ(thrown_by(changing_void), held);
  EXPECT_EQ(thrown_by(Result<void>(fixed_void)), held);
  EXPECT_EQ(changing.error(), held) << "and the result still has it";
  EXPECT_THROW(static_cast<void>(fixed.value_or_throw()), std::runtime_error);
}

TEST(Results, AValueIsReturnedWhereAFailureWouldBeThrown) {
  Result<std::string> text = "text";
  text.value_or_throw() += "s";
  EXPECT_EQ(std::as_const(text).value_or_throw(), "texts");
  EXPECT_EQ(&text.value_or_throw(), &*text) << "of an lvalue: a reference";
  auto owner = Result<std::unique_ptr<int>>(std::make_unique<int>(7)).value_or_throw();
  EXPECT_EQ(*owner, 7) << "of a temporary: the value itself, also if it can only be moved";
  const Result<void> done;
  done.value_or_throw();
  Result<void>().value_or_throw();
  static_assert(std::is_same_v<decltype(Result<int>().value_or_throw()), int>);
  static_assert(std::is_void_v<decltype(done.value_or_throw())>);
}

}  // namespace
}  // namespace perdure
