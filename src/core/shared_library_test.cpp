// With a library that every process of ours has, and one that nobody has.

#include "perdure/core/shared_library.hpp"

#include <gtest/gtest.h>

#include "perdure/core/error.hpp"

namespace perdure {
namespace {

TEST(SharedLibraries, HaveTheirFunctions) {
  SharedLibrary library("libcrypto.so.3", "libssl3");
  auto* const version = library.find<unsigned long()>("OpenSSL_version_num");
  ASSERT_TRUE(library.check());
  EXPECT_GE(version(), 0x30000000UL);
}

TEST(SharedLibraries, ThatAreNotThereSayWhatToInstall) {
  SharedLibrary library("libnobody.so.7", "libnobody7");
  EXPECT_EQ(library.find<int()>("function"), nullptr);
  const auto checked = library.check();
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, ErrorCode::unavailable);
  EXPECT_EQ(checked.error().subject, "libnobody.so.7");
  EXPECT_TRUE(checked.error().message.starts_with("libnobody.so.7 cannot be used: "));
  EXPECT_TRUE(checked.error().message.ends_with("; install the package libnobody7"));
}

TEST(SharedLibraries, ThatAreTooOldSaySo) {
  SharedLibrary library("libcrypto.so.3", "libssl3");
  EXPECT_EQ(library.find<int()>("EVP_of_the_future"), nullptr);
  EXPECT_EQ(library.find<int()>("EVP_of_later"), nullptr);
  const auto checked = library.check();
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().message,
            "libcrypto.so.3 cannot be used: it has no EVP_of_the_future, so it is too old; install "
            "the package libssl3");
}

}  // namespace
}  // namespace perdure
