// Which backend a location means, and which locations mean none.

#include "perdure/store/open.hpp"

#include <gtest/gtest.h>
#include <string>

#include "doubles/temp_folder.hpp"
#include "perdure/core/error.hpp"

namespace perdure {
namespace {

std::string backend_of(const std::string& location) {
  const auto store = open_store(location);
  if (!store) return std::string(to_string(store.error().code));
  return (*store)->upkeep().info().backend;
}

TEST(OpenStore, ChoosesTheBackendByTheLocation) {
  const TempFolder folder;
  EXPECT_EQ(backend_of("memory:"), "memory");
  EXPECT_EQ(backend_of(folder.file("a.db")), "sqlite");
  EXPECT_EQ(backend_of("sqlite:" + folder.file("b.db")), "sqlite");
  EXPECT_EQ(backend_of("sqlite:" + folder.file("c:d.db")), "sqlite");
}

TEST(OpenStore, RefusesSchemesThisBuildLacks) {
  for (const char* location :
       {"mysql://localhost/db", "memory:x", "Memory:", "file:x.db", "http://localhost"}) {
    EXPECT_EQ(backend_of(location), "unsupported") << location;
  }
}

TEST(OpenStore, RefusesWhatIsNoPath) {
  for (const std::string& location :
       {std::string(), std::string("sqlite:"), std::string(":memory:"),
        std::string("sqlite::memory:"), std::string("/tmp/a\0b", 8)}) {
    EXPECT_EQ(backend_of(location), "invalid_argument") << location;
  }
}

TEST(OpenStore, AMemoryStoreIsNeverThereAlready) {
  OpenOptions options;
  options.create = false;
  const auto store = open_store("memory:", options);
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, ErrorCode::not_found);
}

}  // namespace
}  // namespace perdure
