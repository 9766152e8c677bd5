// Secrets of a location do not reach people.

#include "store/api/location.hpp"

#include <fstream>
#include <gtest/gtest.h>
#include <string>

#include "doubles/temp_folder.hpp"

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
        "mysql://ann:secret@h/d", "POSTGRES://ann:secret@h/d", "postgres:/ann:secret@h/d",
        "Postgres//ann:secret@h/d", "host=h password=secret user=ann", "PASSWORD=secret",
        "/data/ann:secret@h/d", "/data/ann:sec/secret@h/d", "./host=h password=secret",
        "sqlite:ann:secret@h/d", " postgres:/ann:secret@h/d", "secret@h://d"}) {
    EXPECT_FALSE(shown_location(location).contains("secret")) << shown_location(location);
  }
  EXPECT_EQ(shown_location("POSTGRES://ann:secret@h/d"), "POSTGRES://…");
  EXPECT_EQ(shown_location("postgres:/ann:secret@h/d"), "postgres:/…");
  EXPECT_EQ(shown_location("host=h password=secret"), "host=…");
}

TEST(LocationTest, APathIsShownAsFarAsItCanBeNoPassword) {
  EXPECT_EQ(shown_location("/data/ann@h/a:b.db"), "/data/ann@h/a:b.db");
  EXPECT_EQ(shown_location("sqlite:/data/ann@h.db"), "sqlite:/data/ann@h.db");
  EXPECT_EQ(shown_location("/data/2026:01@home.db"), "/data/2026:***@home.db");
  const TempFolder folder;
  const std::string path = folder.file("2026:01@home.db");
  std::ofstream(path) << "there";
  EXPECT_EQ(shown_location(path), path);
  EXPECT_EQ(shown_location("sqlite:" + path), "sqlite:" + path);
}

TEST(LocationTest, AnAddressIsNoPathHoweverItIsWritten) {
  for (const std::string address : {"postgres://h/d", "POSTGRES://h/d", "postgresql:/h/d",
                                    "pgsql:d", "postgres//h/d", "mysql://h/d", "host=h dbname=d"}) {
    EXPECT_TRUE(is_address(address)) << address;
  }
  for (const std::string path : {"/data/postgres:/d", "./host=h", "agents.db", "postgres/agents.db",
                                 "sqlite:host=h", "sqlite:///data/a.db", "memory:"}) {
    EXPECT_FALSE(is_address(path)) << path;
  }
}

}  // namespace
}  // namespace perdure
