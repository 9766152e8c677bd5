// Secrets of a location do not reach people.

#include "perdure/store/location.hpp"

#include <gtest/gtest.h>
#include <string>

namespace perdure {
namespace {

TEST(LocationTest, IsShownWithoutItsSecrets) {
  EXPECT_EQ(shown_location("postgres://ann:secret@h:1/d"), "postgres://ann:***@h:1/d");
  EXPECT_EQ(shown_location("/data/a:b/store.db"), "/data/a:b/store.db");
  EXPECT_EQ(shown_location("memory:"), "memory:");
}

TEST(LocationTest, OneThatCannotBeReadIsNotRepeated) {
  for (const std::string location :
       {"postgres://ann:secret@h:port/d", "postgres://ann:secret@h/d?pool=secret",
        "mysql://ann:secret@h/d"}) {
    EXPECT_FALSE(shown_location(location).contains("secret")) << shown_location(location);
  }
}

}  // namespace
}  // namespace perdure
