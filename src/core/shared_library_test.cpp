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
  EXPECT_TRUE(checked.error().message.ends_with("; is the package libnobody7 installed?"));
}

TEST(SharedLibraries, ThatAreTooOldSaySo) {
  SharedLibrary library("libcrypto.so.3", "libssl3");
  EXPECT_EQ(library.find<int()>("EVP_of_the_future"), nullptr);
  EXPECT_EQ(library.find<int()>("EVP_of_later"), nullptr);
  const auto checked = library.check();
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().message,
            "libcrypto.so.3 cannot be used: it has no EVP_of_the_future, so it is too old; is the "
            "package libssl3 installed?");
}

// Of which the first two cannot be used.
struct Third {
  Third() { ++made; }
  [[nodiscard]] Result<void> check() const {
    if (made < 3) return fail(ErrorCode::unavailable, "not yet");
    return {};
  }
  static inline int made = 0;
};

TEST(LoadedTables, AreTriedAgainUntilTheyCanBeUsed) {
  LoadedTable<Third> table;
  EXPECT_FALSE(table.load());
  EXPECT_FALSE(table.load());
  ASSERT_TRUE(table.load());
  const Third* const first = &table.get();
  ASSERT_TRUE(table.load());
  EXPECT_EQ(&table.get(), first);
  EXPECT_EQ(Third::made, 3);
  delete first;  // NOLINT(cppcoreguidelines-owning-memory): for those who look for leaks.
}

}  // namespace
}  // namespace perdure
