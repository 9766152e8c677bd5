// The whole loop with a scripted model and real programs as its tools, its process killed at every
// write of the store and at every step of its own and of its programs; again during recovery. The
// world is asked what happened, and what was paid.

#include <cstdint>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <iostream>
#include <string>
#include <vector>

#include "agent/letter.hpp"
#include "agent/order.hpp"
#include "agent/task.hpp"
#include "agent/trial.hpp"
#include "contract/backends.hpp"
#include "crash/scale.hpp"

namespace perdure::agents {
namespace {

class AgentSweep : public testing::TestWithParam<Backend> {
 protected:
  /// Returns how many places there were in the run that came to its end.
  Death try_deaths(const std::vector<Death>& deaths, Programs programs = Programs::live,
                   const Task& task = order_task()) {
    Trial trial(GetParam(), programs, task);
    std::string what;
    for (const Death& death : deaths) {
      what += fmt::format(" write {} step {};", death.write, death.step);
      trial.play(death);
    }
    trial.finish();
    trial.judge();
    if (!deaths.empty()) ++places_;
    repeats_ += trial.repeats();
    for (const std::string& complaint : trial.complaints()) {
      if (++violations_ <= 10) ADD_FAILURE() << "death at" << what << " " << complaint;
    }
    for (const std::string& op : trial.asked()) {
      EXPECT_EQ(op, unsafe_op) << "death at" << what << " nobody need be asked about it";
    }
    return trial.points();
  }

  /// One of so many places is tried, others with another seed; `--full` tries all of them. A run
  /// over a server costs ten times one over a file.
  [[nodiscard]] static std::uint64_t stride(std::uint64_t of_file, std::uint64_t of_server) {
    if (scale().full) return 1;
    return GetParam().home == Home::schema ? of_server : of_file;
  }
  [[nodiscard]] static std::uint64_t first(std::uint64_t every) { return 1 + scale().seed % every; }

  void try_steps(Programs programs, std::uint64_t every) {
    const Death last = try_deaths({});
    ASSERT_GT(last.step, 60U);
    for (std::uint64_t step = first(every); step <= last.step; step += every) {
      try_deaths({{.step = step}}, programs);
    }
  }

  ~AgentSweep() override {
    std::cout << fmt::format("agent {}: {} deaths, {} calls asked for again, {} violations\n",
                             GetParam().name, places_, repeats_, violations_);
  }

 private:
  int places_ = 0;
  std::size_t repeats_ = 0;
  int violations_ = 0;
};

TEST_P(AgentSweep, NoDeathAtAWriteDoublesOrLosesAnything) {
  const Death last = try_deaths({});
  ASSERT_GT(last.write, 60U);
  const auto every = stride(4, 11);
  for (std::uint64_t write = first(every); write <= last.write; write += every) {
    try_deaths({{.write = write}});
  }
}

TEST_P(AgentSweep, NoDeathThatAProgramDiesWithDoes) { try_steps(Programs::die, stride(2, 7)); }

TEST_P(AgentSweep, NoDeathThatAProgramOutlivesDoes) { try_steps(Programs::live, stride(2, 5)); }

TEST_P(AgentSweep, NoDeathDuringRecoveryDoes) {
  const Death last = try_deaths({});
  const auto every = stride(7, 21);
  for (std::uint64_t step = first(every); step <= last.step; step += every) {
    try_deaths({{.step = step}, {.step = 1 + step % 5}});
    try_deaths({{.step = step}, {.write = 1 + step % 31}});
  }
}

// An approval, mail that comes meanwhile, a plan, notes and files: what letter.hpp is about.
TEST_P(AgentSweep, NoDeathInALetterForgetsAWordANoteOrAFile) {
  const Death last = try_deaths({}, Programs::live, letter_task());
  ASSERT_GT(last.write, 60U);
  ASSERT_GT(last.step, 30U);
  const auto writes = stride(13, 61);
  for (std::uint64_t write = first(writes); write <= last.write; write += writes) {
    try_deaths({{.write = write}}, Programs::live, letter_task());
  }
  const auto steps = stride(3, 13);
  for (std::uint64_t step = first(steps); step <= last.step; step += steps) {
    try_deaths({{.step = step}}, Programs::live, letter_task());
    if (step % 4 == 0) {
      try_deaths({{.step = step}, {.write = 1 + step % 31}}, Programs::die, letter_task());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Surviving, AgentSweep, testing::ValuesIn(surviving_backends()),
                         [](const auto& named) { return named.param.name; });

}  // namespace
}  // namespace perdure::agents
