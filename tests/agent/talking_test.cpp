// Complaints of users of other harnesses that need a process and a model on the other side of a
// wire: torn tails, Ctrl-C in the middle of a stream, orphaned calls, thinking that changed. The
// server checks every request as the vendors do, and answers 400 for ever where they would.

#include <algorithm>
#include <csignal>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>
#include <string>
#include <variant>
#include <vector>

#include "agent/pairing.hpp"
#include "agent/talks.hpp"
#include "contract/backends.hpp"
#include "crash/child_process.hpp"
#include "models/model_server.hpp"
#include "models/request_check.hpp"
#include "perdure/runtime/state.hpp"
#include "tools/fifo.hpp"

namespace perdure::agents {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class Talking : public testing::TestWithParam<std::string> {
 protected:
  Talking() { Talks::plant("key-of-a-talker", "secret-of-a-talker"); }
  void expect_accepted() {
    for (const models::SeenRequest& request : talks.server().requests()) {
      EXPECT_EQ(models::refusal_of(request), std::nullopt);
    }
    EXPECT_TRUE(is_paired(provider_messages(talks.state())));
  }
  [[nodiscard]] std::string last_body() const { return talks.server().requests().back().body; }

  Talks talks{file_backends().front(), GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Every, Talking, testing::Values("anthropic", "chat"),
                         [](const auto& named) { return named.param; });

// Whatever came of the response is lost with the process; that it was asked for is not.
TEST_P(Talking, ATornTailIsNoObstacle) {
  const auto first = talks.start("stall-3000", {"say=Hello."});
  ASSERT_TRUE(Talks::hear(*first, "text "));
  first->kill();
  ASSERT_TRUE(first->wait().was_killed());
  EXPECT_GT(talks.state().budget.totals.recorded(), 0);

  EXPECT_EQ(talks.all_of("final").back(), "ended completed ");

  expect_accepted();
  EXPECT_GT(talks.state().budget.totals.unconfirmed, 0) << "the lost response may be paid";
}

TEST_P(Talking, CtrlCKeepsWhatWasSaidAsPartial) {
  const auto first = talks.start("stall-3000", {"say=Hello."});
  ASSERT_TRUE(Talks::hear(*first, "text "));
  ::kill(first->pid(), SIGINT);
  EXPECT_THAT(first->read_to_end().back(), StartsWith("ended interrupted"));

  const State state = talks.state();
  const Message& last = state.transcript.back().message;
  EXPECT_TRUE(last.is_partial);
  EXPECT_THAT(text_of(last), StartsWith("Satz 0"));
  EXPECT_EQ(talks.all_of("final", {"say=And now?"}).back(), "ended completed ");
  expect_accepted();
  EXPECT_THAT(last_body(), HasSubstr("Satz 0"));
}

// The second request is the second process's. It has the calls of a response that was recorded by
// the first, one of which was running when it died.
TEST_P(Talking, CallsAreNotOrphanedAndThinkingIsAsItWas) {
  const Fifo started(talks.folder().file("started"));
  const Fifo go(talks.folder().file("go"));
  const auto first = talks.start("whole", {"say=Hello."});
  ASSERT_EQ(started.read_line(60'000), "runs");
  first->kill();
  ASSERT_TRUE(first->wait().was_killed());

  const auto second = talks.start("final");
  ASSERT_EQ(started.read_line(60'000), "runs");
  go.write_line("go");
  EXPECT_EQ(second->read_to_end().back(), "ended completed ");

  expect_accepted();
  const std::string body = last_body();
  EXPECT_THAT(body, HasSubstr("sunny"));
  if (GetParam() == "anthropic") {
    EXPECT_THAT(body, HasSubstr(R"("signature":"EqQBCkYIBxgCKkC/x+Zt8w==0123456789abcdef/ÄÖ")"));
    EXPECT_THAT(body, HasSubstr(R"("data":"b3Bh\/cXVl==")"));
  } else {
    EXPECT_THAT(body, HasSubstr(R"("reasoning_content":"Zuerst prüfe ich)"));
  }
  std::ifstream book(talks.folder().file("book"));
  EXPECT_EQ(std::count(std::istreambuf_iterator<char>(book), {}, '\n'), 1) << "one effect";
}

// The server refuses a thought that is not its own model's: what the first one thought stays in the log.
TEST_P(Talking, AnotherProviderIsNotToldWhatTheFirstOneThought) {
  ASSERT_THAT(talks.all_of("tired-1", {"say=Hello."}).back(), StartsWith("failed"));
  const State thought = talks.state();

  talks.change_format(GetParam() == "chat" ? "anthropic" : "chat");
  EXPECT_EQ(talks.all_of("final").back(), "ended completed ");
  EXPECT_EQ(talks.all_of("final", {"say=And now?", "model=other-1"}).back(), "ended completed ");
  talks.change_format(GetParam());
  EXPECT_EQ(talks.all_of("final", {"say=Still there?", "model=other-1"}).back(),
            "ended completed ");
  EXPECT_THAT(last_body(), Not(HasSubstr("Zuerst"))) << "another model of the first provider";
  EXPECT_EQ(talks.all_of("final", {"say=And you?"}).back(), "ended completed ");

  expect_accepted();
  EXPECT_THAT(last_body(), HasSubstr("Zuerst")) << "its own thoughts go back to it";
  EXPECT_EQ(talks.state().transcript.at(1), thought.transcript.at(1));
}

}  // namespace
}  // namespace perdure::agents
