// Locations: what is ours, what is libpq's, and what nobody gets to see.

#include "postgres/client/address.hpp"

#include <chrono>
#include <gtest/gtest.h>
#include <string>
#include <string_view>

#include "perdure/core/error.hpp"

namespace perdure::postgres {
namespace {

std::string setting(const Host& host, std::string_view name) {
  for (const auto& [key, value] : host.settings) {
    if (key == name) return value;
  }
  return "(none)";
}

Address parsed(std::string_view location) { return parse_address(location).value(); }

std::string refusal(std::string_view location) {
  const auto address = parse_address(location);
  if (address) return "(taken)";
  EXPECT_EQ(address.error().code, ErrorCode::invalid_argument) << location;
  return address.error().message;
}

TEST(AddressTest, BothSpellingsAreOurs) {
  EXPECT_TRUE(is_postgres("postgres://h/d"));
  EXPECT_TRUE(is_postgres("postgresql://h/d"));
  EXPECT_FALSE(is_postgres("sqlite:postgres.db"));
  EXPECT_EQ(setting(parsed("postgresql://h/d").hosts[0], "dbname"), "d");
}

TEST(AddressTest, HasDefaults) {
  const Address address = parsed("postgres://h/d");
  EXPECT_EQ(address.schema, "perdure");
  EXPECT_EQ(address.pool, 8U);
  EXPECT_TRUE(address.notify);
  EXPECT_EQ(address.partitions, 0);
  EXPECT_EQ(address.migrate, Migrate::automatic);
  EXPECT_EQ(address.connect_wait, std::chrono::seconds(5));
  EXPECT_EQ(setting(address.hosts[0], "client_encoding"), "UTF8");
  EXPECT_EQ(setting(address.hosts[0], "fallback_application_name"), "perdure");
  EXPECT_NE(setting(address.hosts[0], "keepalives_idle"), "(none)");
  EXPECT_NE(setting(address.hosts[0], "tcp_user_timeout"), "(none)");
  EXPECT_EQ(setting(address.hosts[0], "target_session_attrs"), "(none)");
}

TEST(AddressTest, OurOptionsAreTakenOut) {
  const Address address = parsed(
      "postgres://h/d?schema=my%20agents&pool=3&notify=off&sslmode=verify-full&partitions=16"
      "&migrate=verify");
  EXPECT_EQ(address.schema, "my agents");
  EXPECT_EQ(address.pool, 3U);
  EXPECT_FALSE(address.notify);
  EXPECT_EQ(address.partitions, 16);
  EXPECT_EQ(address.migrate, Migrate::verify);
  for (const auto* name : {"schema", "pool", "notify", "partitions", "migrate"}) {
    EXPECT_EQ(setting(address.hosts[0], name), "(none)");
  }
  EXPECT_EQ(setting(address.hosts[0], "sslmode"), "verify-full");
}

TEST(AddressTest, TheRestIsLibpqs) {
  const Host host =
      parsed(
          "postgres://ann:s%40crt@h:6543/d%2Fe?application_name=mine&keepalives_idle=7"
          "&options=-c%20geqo%3Doff")
          .hosts[0];
  EXPECT_EQ(setting(host, "user"), "ann");
  EXPECT_EQ(setting(host, "password"), "s@crt");
  EXPECT_EQ(setting(host, "host"), "h");
  EXPECT_EQ(setting(host, "port"), "6543");
  EXPECT_EQ(setting(host, "dbname"), "d/e");
  EXPECT_EQ(setting(host, "application_name"), "mine");
  EXPECT_EQ(setting(host, "keepalives_idle"), "7");
  EXPECT_EQ(setting(host, "options"), "-c geqo=off");
}

TEST(AddressTest, ASocketsFolderIsAHost) {
  EXPECT_EQ(setting(parsed("postgres:///d?host=/var/run/x").hosts[0], "host"), "/var/run/x");
  EXPECT_EQ(setting(parsed("postgres://%2Fvar%2Frun%2Fx/d").hosts[0], "host"), "/var/run/x");
  EXPECT_EQ(parsed("postgres:///d").hosts.size(), 1U);
}

TEST(AddressTest, SeveralHostsAreTriedInTheirOrder) {
  const Address address = parsed("postgres://ann@h1:1,h2:2,[::1]:3/d");
  ASSERT_EQ(address.hosts.size(), 3U);
  EXPECT_EQ(setting(address.hosts[0], "host"), "h1");
  EXPECT_EQ(setting(address.hosts[1], "host"), "h2");
  EXPECT_EQ(setting(address.hosts[1], "port"), "2");
  EXPECT_EQ(setting(address.hosts[2], "host"), "::1");
  for (const Host& host : address.hosts) {
    EXPECT_EQ(setting(host, "user"), "ann");
    EXPECT_EQ(setting(host, "target_session_attrs"), "read-write");
  }
}

TEST(AddressTest, OnePortMayBeForAllHosts) {
  const Address address = parsed("postgres:///d?host=h1,h2&port=77");
  ASSERT_EQ(address.hosts.size(), 2U);
  EXPECT_EQ(setting(address.hosts[0], "port"), "77");
  EXPECT_EQ(setting(address.hosts[1], "port"), "77");
}

TEST(AddressTest, WhichHostIsWantedMayBeSaid) {
  const Address address = parsed("postgres://h1,h2/d?target_session_attrs=primary");
  EXPECT_EQ(setting(address.hosts[1], "target_session_attrs"), "primary");
}

TEST(AddressTest, TheTimeToConnectMayBeSaid) {
  EXPECT_EQ(parsed("postgres://h/d?connect_timeout=2").connect_wait, std::chrono::seconds(2));
}

TEST(AddressTest, IsShownWithoutItsSecrets) {
  EXPECT_EQ(parsed("postgres://ann:secret@h:1/d?schema=s").shown,
            "postgres://ann:***@h:1/d?schema=s");
  EXPECT_EQ(parsed("postgres://ann@h/d").shown, "postgres://ann@h/d");
  EXPECT_EQ(parsed("postgres://h/d?password=secret&sslmode=require&sslpassword=secret").shown,
            "postgres://h/d?password=***&sslmode=require&sslpassword=***");
  EXPECT_EQ(parsed("postgres://h/d?p%61ssword=secret").shown, "postgres://h/d?password=***");
  EXPECT_EQ(parsed("postgres://ann:se:cret@h/d").shown, "postgres://ann:***@h/d");
  EXPECT_EQ(parsed("postgres://ann:se?cret@h/d").shown, "postgres://ann:***@h/d");
}

// Whatever somebody forgot to encode or to write.
TEST(AddressTest, ARefusalHoldsNoSecret) {
  for (const std::string_view location :
       {"postgres://ann:sec/ret@h/d", "postgres://ann:sec@ret@h/d", "postgres://ann:secret",
        "postgres://ann:sec?ret/x@h/d", "postgres://ann:sec%ret@h/d",
        "postgres://h/d?password=%ret", "postgres://ann:ret@h/d?ret",
        "postgres://ann:ret@h/d?sec-ret=1", "postgres://ann:ret@[::1/d",
        "postgres://ann:ret@h/d?pool=secret", "postgres://ann:ret@h:1,h2:2:2/d",
        "postgres://ann:sec ret@h:x/d", "postgres://ann:ret@h/d?connect_timeout=ret"}) {
    const std::string words = refusal(location);
    EXPECT_NE(words, "(taken)") << location;
    EXPECT_EQ(words.find("sec/"), std::string::npos) << words;
    EXPECT_EQ(words.find("sec "), std::string::npos) << words;
    EXPECT_EQ(words.find("secr"), std::string::npos) << words;
    EXPECT_EQ(words.find("ret"), std::string::npos) << words;
  }
}

TEST(AddressTest, WhatCanNeverWorkIsRefused) {
  EXPECT_NE(refusal("postgres://h/d?pool=0").find("pool="), std::string::npos);
  EXPECT_NE(refusal("postgres://h/d?pool=1x").find("pool="), std::string::npos);
  EXPECT_NE(refusal("postgres://h/d?notify=yes").find("notify="), std::string::npos);
  EXPECT_NE(refusal("postgres://h/d?partitions=-1").find("partitions="), std::string::npos);
  EXPECT_NE(refusal("postgres://h/d?migrate=no").find("migrate="), std::string::npos);
  EXPECT_NE(refusal("postgres://h/d?schema=").find("schema="), std::string::npos);
  EXPECT_NE(refusal("postgres://h/d?schema=pg_mine").find("schema="), std::string::npos);
  for (const std::string name : {"a%27b", "a%24%24b", "a%5Cb", "perdure.x"}) {
    EXPECT_NE(refusal("postgres://h/d?schema=" + name).find("schema="), std::string::npos) << name;
  }
  EXPECT_NE(refusal("postgres://h/d?schema=" + std::string(64, 'x')).find("schema="),
            std::string::npos);
  EXPECT_NE(refusal("postgres://h/d?pool=1&pool=2").find("twice"), std::string::npos);
  EXPECT_NE(refusal("postgres://h/d?poool=1").find("poool"), std::string::npos);
  EXPECT_NE(refusal("postgres://h1,h2,h3:1,h4/d?port=1,2").find("port"), std::string::npos);
  EXPECT_NE(refusal("mysql://h/d").find("postgres://"), std::string::npos);
}

}  // namespace
}  // namespace perdure::postgres
