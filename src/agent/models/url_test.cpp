// Where a key may be sent.

#include <gtest/gtest.h>
#include <string>

#include "models/http.hpp"
#include "perdure/core/error.hpp"

namespace perdure {
namespace {

TEST(Url, KnowsThisMachine) {
  for (const char* const url :
       {"http://localhost", "http://localhost:1/x", "http://127.0.0.1:80/v1", "http://127.8.9.1",
        "http://[::1]:8080/v1"}) {
    EXPECT_TRUE(is_loopback(url)) << url;
  }
  for (const char* const url :
       {"http://localhost.example.com", "http://127.0.0.1.example.com/", "http://127.evil.com",
        "http://10.0.0.1", "http://[::2]", "localhost"}) {
    EXPECT_FALSE(is_loopback(url)) << url;
  }
}

TEST(Url, JoinsBaseAndPath) {
  EXPECT_EQ(*request_url("https://api.example.com", "/v1/messages", true),
            "https://api.example.com/v1/messages");
  EXPECT_EQ(*request_url("https://api.example.com/x//", "/v1", true),
            "https://api.example.com/x/v1");
  EXPECT_EQ(*request_url("http://127.0.0.1:9/x", "/v1", true), "http://127.0.0.1:9/x/v1");
  EXPECT_EQ(*request_url("http://10.0.0.1:9", "/v1", false), "http://10.0.0.1:9/v1");
}

TEST(Url, RefusesWhatIsNoneAndWhatWouldGiveAKeyAway) {
  for (const char* const url :
       {"", "api.example.com", "ftp://x", "file:///etc/passwd", "https://", "https:///v1",
        "https://user:secret@host", "https://a b", "http://10.0.0.1"}) {
    const auto made = request_url(url, "/v1", true);
    ASSERT_FALSE(made) << url;
    EXPECT_EQ(made.error().code, ErrorCode::invalid_argument);
    EXPECT_EQ(made.error().message.find("secret"), std::string::npos);
  }
}

}  // namespace
}  // namespace perdure
