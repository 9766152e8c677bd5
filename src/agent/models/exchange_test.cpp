// Patience with a server, piece by piece.

#include <chrono>
#include <gtest/gtest.h>
#include <string_view>

#include "doubles/fake_clock.hpp"
#include "models/http.hpp"
#include "perdure/core/error.hpp"

namespace perdure {
namespace {

using namespace std::chrono_literals;

class Taker final : public HttpReader {
 public:
  void on_head(HttpHead /*head*/) override {}
  [[nodiscard]] Result<void> on_bytes(std::string_view /*bytes*/) override { return {}; }
  [[nodiscard]] bool has_all() const override { return false; }
};

TEST(Patience, BeginsAnewWithEveryPiece) {
  FakeClock clock;
  Taker reader;
  HttpRequest request;
  request.timeouts.idle = 30ms;
  request.response_bytes_max = 100;
  Exchange exchange(request, reader, clock);
  char room = '\0';
  EXPECT_EQ(exchange.give(&room, 1), 0U);
  for (int piece = 0; piece < 4; ++piece) {
    clock.advance(20ms);
    EXPECT_TRUE(exchange.take_body("x"));
    EXPECT_EQ(exchange.time_left(), 30ms);
  }
  clock.advance(30ms);
  EXPECT_EQ(exchange.time_left(), 0ms);
}

}  // namespace
}  // namespace perdure
