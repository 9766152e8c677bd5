// Server-sent events: every ending of a line, every split, and what is too large.

#include <algorithm>
#include <cstddef>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/http.hpp"
#include "perdure/core/error.hpp"

namespace perdure {
namespace {

using Events = std::vector<std::pair<std::string, std::string>>;

// What comes out if the stream arrives in pieces of `piece` bytes.
Events events_of(std::string_view stream, std::size_t piece = std::string_view::npos) {
  Events events;
  SseParser parser;
  while (!stream.empty()) {
    const std::size_t size = std::min(piece, stream.size());
    const auto fed = parser.feed(stream.substr(0, size), [&](const SseEvent& event) {
      events.emplace_back(event.name, event.data);
      return Result<void>{};
    });
    EXPECT_TRUE(fed);
    stream.remove_prefix(size);
  }
  return events;
}

TEST(Sse, GivesNameAndDataOfEachEvent) {
  EXPECT_EQ(events_of("event: ping\ndata: {}\n\ndata: bare\n\n"),
            (Events{{"ping", "{}"}, {"", "bare"}}));
}

TEST(Sse, JoinsDataLinesAndTakesOneSpaceAway) {
  EXPECT_EQ(events_of("data:  two\ndata:\ndata\ndata:x: y\n\n"), (Events{{"", " two\n\n\nx: y"}}));
}

TEST(Sse, PassesOverCommentsOtherFieldsAndEventsWithoutData) {
  EXPECT_EQ(events_of(": keep-alive\n\nid: 7\nretry: 10\nEvent: no\nevent: lost\n\ndata: a\n\n"),
            (Events{{"", "a"}}));
}

TEST(Sse, ReadsEveryEndingOfALine) {
  const Events expected{{"a", "1\n2"}, {"", "3"}};
  for (const std::string_view stream :
       {"event:a\ndata:1\ndata:2\n\ndata:3\n\n", "event:a\rdata:1\rdata:2\r\rdata:3\r\r",
        "event:a\r\ndata:1\r\ndata:2\r\n\r\ndata:3\r\n\r\n",
        "event:a\rdata:1\ndata:2\r\n\ndata:3\n\r\n"}) {
    for (std::size_t piece = 1; piece <= stream.size(); ++piece) {
      EXPECT_EQ(events_of(stream, piece), expected) << stream << " in pieces of " << piece;
    }
  }
}

TEST(Sse, TakesAByteOrderMarkAwayOnceAtTheStart) {
  for (const std::size_t piece : {1U, 2U, 3U, 4U, 100U}) {
    EXPECT_EQ(events_of("\xEF\xBB\xBF"
                        "data: a\n\n\xEF\xBB\xBF"
                        "data: b\n\n",
                        piece),
              (Events{{"", "a"}}));
  }
}

TEST(Sse, AnEventThatTheEndCutsOffIsNone) {
  EXPECT_EQ(events_of("data: a\n\ndata: b\n"), (Events{{"", "a"}}));
  EXPECT_EQ(events_of("data: a\n\ndata: b"), (Events{{"", "a"}}));
}

TEST(Sse, DoesNotLookIntoUtf8) {
  const std::string stream = "data: \xF0\x9F\x8C\x8D \xC3\xA4\n\n";
  for (std::size_t piece = 1; piece <= stream.size(); ++piece) {
    EXPECT_EQ(events_of(stream, piece), (Events{{"", "\xF0\x9F\x8C\x8D \xC3\xA4"}}));
  }
}

RC_GTEST_PROP(Sse, DoesNotDependOnThePieces, (const std::vector<unsigned char>& picks)) {
  constexpr std::string_view parts[] = {"data:", "event:", "x", "\n", "\r", "\r\n", "\n\n", ": c"};
  std::string stream;
  for (const unsigned char pick : picks) stream += parts[pick % std::size(parts)];
  const Events whole = events_of(stream);
  for (const std::size_t piece : {1U, 2U, 3U, 7U}) RC_ASSERT(events_of(stream, piece) == whole);
}

// How many bytes of `stream`, given `piece` at a time, a parser takes before it refuses.
std::size_t bytes_taken(std::string_view piece, std::size_t times, std::size_t limit) {
  SseParser parser(limit);
  for (std::size_t i = 0; i < times; ++i) {
    const auto fed = parser.feed(piece, [](const SseEvent&) { return Result<void>{}; });
    if (!fed) {
      EXPECT_EQ(fed.error().code, ErrorCode::unavailable);
      return i * piece.size();
    }
  }
  return times * piece.size();
}

TEST(Sse, RefusesALineThatDoesNotEnd) {
  EXPECT_LE(bytes_taken(std::string(1000, 'x'), 20'000, SseParser::event_bytes_default),
            10'000'000U);
}

TEST(Sse, RefusesAnEventThatDoesNotEnd) {
  EXPECT_LE(
      bytes_taken("data: " + std::string(993, 'x') + "\n", 20'000, SseParser::event_bytes_default),
      10'100'000U);
}

TEST(Sse, AStreamMayBeLongerThanAnEventMay) {
  EXPECT_EQ(bytes_taken("data: 12345678\n\n", 1000, 20), 16'000U);
}

TEST(Sse, WhatTheSinkFailsWithEndsTheFeeding) {
  SseParser parser;
  int seen = 0;
  const auto fed = parser.feed("data: a\n\ndata: b\n\n", [&](const SseEvent&) -> Result<void> {
    ++seen;
    return fail(ErrorCode::closed, "enough");
  });
  ASSERT_FALSE(fed);
  EXPECT_EQ(fed.error().code, ErrorCode::closed);
  EXPECT_EQ(seen, 1);
}

}  // namespace
}  // namespace perdure
