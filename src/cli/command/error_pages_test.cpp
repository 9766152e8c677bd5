// Every code of an error has its page, in the program and in the repository.

#include <array>
#include <filesystem>
#include <gtest/gtest.h>
#include <string>

#include "command/help.hpp"
#include "doubles/places.hpp"
#include "perdure/core/error.hpp"

namespace perdure::cli {
namespace {

TEST(ErrorPages, EveryCodeHasOne) {
  for (const ErrorCode code :
       {ErrorCode::invalid_argument, ErrorCode::not_found, ErrorCode::already_exists,
        ErrorCode::conflict, ErrorCode::lease_held, ErrorCode::lease_lost,
        ErrorCode::commit_unknown, ErrorCode::unavailable, ErrorCode::closed,
        ErrorCode::unsupported, ErrorCode::corrupted}) {
    const std::string name(to_string(code));
    EXPECT_TRUE(find_error_page(name).starts_with("# " + name)) << name;
    EXPECT_TRUE(
        std::filesystem::exists(std::filesystem::path(repository_root()) / page_path(code)));
  }
}

TEST(ErrorPages, AnythingElseHasNone) {
  EXPECT_TRUE(find_error_page("README").empty());
  EXPECT_TRUE(find_error_page("").empty());
}

}  // namespace
}  // namespace perdure::cli
