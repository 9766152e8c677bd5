// Which backend a location means, and which locations mean none.

#include <gtest/gtest.h>
#include <string>

#include "doubles/temp_folder.hpp"
#include "perdure/core/error.hpp"
#include "perdure/store/store.hpp"

namespace perdure {
namespace {

std::string backend_of(const std::string& location) {
  const auto store = open_store(location);
  if (!store) return std::string(to_string(store.error().code));
  return (*store)->info().backend;
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
    EXPECT_EQ(backend_of(location), "invalid_argument") << location;
  }
}

TEST(OpenStore, AsksWhetherAMistypedAddressWasMeantAndTellsNoPassword) {
  for (const char* location :
       {"POSTGRES://ann:secret@h/d", "postgres:/ann:secret@h/d", "postgress://ann:secret@h/d",
        "host=h password=secret user=ann", "dbname=secret"}) {
    const auto store = open_store(location);
    ASSERT_FALSE(store) << location;
    EXPECT_TRUE(store.error().message.contains("did you mean postgres://")) << location;
    EXPECT_FALSE(store.error().message.contains("secret")) << store.error().message;
  }
  for (const char* location : {"mysql://ann:secret@h/d", "memory:ann:secret@h"}) {
    const auto store = open_store(location);
    ASSERT_FALSE(store) << location;
    EXPECT_FALSE(store.error().message.contains("secret")) << store.error().message;
    EXPECT_FALSE(store.error().message.contains("did you mean")) << store.error().message;
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
