// The version as a text and as numbers: written twice, since the preprocessor needs both.

#include "perdure/version.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace perdure {
namespace {

TEST(Version, AsATextIsTheNumbers) {
  EXPECT_EQ(PERDURE_VERSION_STRING, fmt::format("{}.{}.{}", PERDURE_VERSION_MAJOR,
                                                PERDURE_VERSION_MINOR, PERDURE_VERSION_PATCH));
}

}  // namespace
}  // namespace perdure
