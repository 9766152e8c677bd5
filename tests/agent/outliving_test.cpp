// A program that outlives the agent that ran it: whoever takes the session up ends it, and what it
// started, before the call is verified, asked about or decided.

#include <cstdint>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <sstream>
#include <string>
#include <sys/types.h>

#include "agent/order.hpp"
#include "agent/trial.hpp"
#include "contract/backends.hpp"
#include "crash/child_process.hpp"
#include "tools/fifo.hpp"

namespace perdure::agents {
namespace {

constexpr int patience_ms = 60'000;

/// A program that waits, and what it started.
struct Held {
  pid_t program = 0;
  pid_t other = 0;
};

class OutlivedAgent : public testing::TestWithParam<Backend> {
 protected:
  [[nodiscard]] std::unique_ptr<ChildProcess> start(const std::string& gated = "pay") {
    return trial.start({"gate=" + trial.file("gate"), "gated=" + gated});
  }
  [[nodiscard]] static Held held_at(const Fifo& gate) {
    std::istringstream words(gate.read_line(patience_ms));
    Held held;
    words >> held.program >> held.other;
    return held;
  }

  /// An agent is killed while a program of it waits.
  [[nodiscard]] Held orphan(const std::string& gated = "pay") {
    const auto agent = start(gated);
    const Held held = held_at(pays);
    agent->kill();
    EXPECT_TRUE(agent->wait().was_killed());
    return held;
  }

  void expect_one_payment(ChildProcess& agent) {
    for (const std::string& line : agent.read_to_end()) trial.hear(line);
    trial.finish();
    trial.judge();
    for (const std::string& complaint : trial.complaints()) ADD_FAILURE() << complaint;
    EXPECT_EQ(trial.world().count("pay-1").effects.size(), 1U);
  }

  /// The decision was that it did not happen, so the model asked for it again; the program that was
  /// ended did nothing.
  void expect_one_carrier() {
    trial.judge();
    for (const std::string& complaint : trial.complaints()) ADD_FAILURE() << complaint;
    EXPECT_EQ(trial.world().count("carrier-1").effects.size(), 1U);
  }

  Trial trial{GetParam()};
  const Fifo pays{trial.file("gate.effect.out")};
  const Fifo may_pay{trial.file("gate.effect.in")};
  const Fifo verifies{trial.file("gate.verify.out")};
  const Fifo may_verify{trial.file("gate.verify.in")};
};

TEST_P(OutlivedAgent, IsEndedWithAllOfItsGroupBeforeItsCallIsVerified) {
  const Held first = orphan();
  ASSERT_GT(first.program, 1);
  ASSERT_FALSE(has_ended(first.program, 0)) << "it outlives its agent";
  ASSERT_FALSE(has_ended(first.other, 0));

  const auto successor = start();
  ASSERT_GT(held_at(verifies).program, 1);
  EXPECT_TRUE(has_ended(first.program, 0));
  EXPECT_TRUE(has_ended(first.other, 0));
  EXPECT_TRUE(trial.world().count("pay-1").effects.empty());
  may_verify.write_line("go");
  const Held second = held_at(pays);
  EXPECT_NE(second.program, first.program);
  may_pay.write_line("go");

  expect_one_payment(*successor);
  EXPECT_TRUE(has_ended(second.other, 0)) << "whatever a program leaves running is ended with it";
}

TEST_P(OutlivedAgent, ThatComesToItsEndIsFoundByVerify) {
  const Held first = orphan();
  ASSERT_GT(first.program, 1);
  may_pay.write_line("go");
  ASSERT_TRUE(has_ended(first.program, patience_ms));
  EXPECT_FALSE(has_ended(first.other, 0)) << "what it started lives on";

  const auto successor = start();
  ASSERT_GT(held_at(verifies).program, 1);
  EXPECT_TRUE(has_ended(first.other, 0));
  may_verify.write_line("go");

  expect_one_payment(*successor);
}

TEST_P(OutlivedAgent, IsEndedBeforeAnybodyIsAskedAboutACallThatNobodyCanVerify) {
  const Held first = orphan("carrier");
  ASSERT_GT(first.program, 1);
  ASSERT_FALSE(has_ended(first.program, 0)) << "it outlives its agent";

  const auto successor = start("carrier");
  const auto words = successor->read_to_end();

  ASSERT_EQ(words.size(), 1U);
  ASSERT_THAT(words[0], testing::StartsWith("waits "));
  EXPECT_TRUE(has_ended(first.program, 0));
  EXPECT_TRUE(has_ended(first.other, 0));
  EXPECT_TRUE(trial.world().count("carrier-1").effects.empty());
  trial.hear(words[0]);
  trial.finish();
  expect_one_carrier();
}

TEST_P(OutlivedAgent, IsEndedBeforeADecisionThatWasLeftForItsCallCounts) {
  const Held first = orphan("carrier");
  ASSERT_GT(first.program, 1);
  trial.decide_unasked(unsafe_op);
  ASSERT_FALSE(has_ended(first.program, 0));

  trial.finish();

  EXPECT_TRUE(has_ended(first.program, 0));
  EXPECT_TRUE(has_ended(first.other, 0));
  expect_one_carrier();
}

// Who ran it, the second process knows from the store, and must not take along when it dies.
TEST_P(OutlivedAgent, NeedNotBeAskedAboutAfterASecondDeathAtAnyWriteOfTheTakeOver) {
  const bool is_file = GetParam().home == Home::file;
  const std::uint64_t last = is_file ? 32 : 16;
  for (std::uint64_t write = 1; write <= last; write += is_file ? 1 : 3) {
    Trial twice(GetParam());
    const Fifo gate(twice.file("gate.effect.out"));
    const Fifo held(twice.file("gate.effect.in"));
    const auto agent = twice.start({"gate=" + twice.file("gate")});
    ASSERT_GT(held_at(gate).program, 1);
    agent->kill();
    EXPECT_TRUE(agent->wait().was_killed());

    twice.play({.write = write});
    twice.finish();

    twice.judge();
    EXPECT_FALSE(twice.asked().contains("pay-1")) << "a second death at write " << write;
    for (const std::string& complaint : twice.complaints()) {
      ADD_FAILURE() << "a second death at write " << write << ": " << complaint;
    }
    if (HasFailure()) break;
  }
}

INSTANTIATE_TEST_SUITE_P(Surviving, OutlivedAgent, testing::ValuesIn(surviving_backends()),
                         [](const auto& named) { return named.param.name; });

}  // namespace
}  // namespace perdure::agents
