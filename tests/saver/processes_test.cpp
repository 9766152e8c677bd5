// A saver's processes: killed while they put, several on one thread, dead with a step in hand.

#include <cstddef>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

#include "contract/backends.hpp"
#include "crash/child_process.hpp"
#include "perdure/adapters/saver.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/store/store.hpp"
#include "saver/growing_state.hpp"
#include "saver/open_saver_at.hpp"

namespace perdure {
namespace {

using StepClaim = CheckpointSaver::StepClaim;
using StepHolder = CheckpointSaver::StepHolder;

/// What a putter was told is there: checkpoint id to state.
class Acknowledged {
 public:
  /// False if the line is something else.
  bool hear(const std::string& line) {
    std::istringstream words(line);
    std::string kind;
    std::string id;
    std::string name;
    int number = 0;
    words >> kind >> id >> name >> number;
    if (kind != "put") return false;
    states_[id] = growing_state(name, number);
    return true;
  }

  [[nodiscard]] std::size_t size() const { return states_.size(); }

  void expect_all_in(CheckpointSaver& saver) const {
    std::set<std::string> listed;
    const auto all = saver.list("t", {}, 100'000).value();
    for (const auto& checkpoint : all) listed.insert(checkpoint.id);
    for (const auto& [id, state] : states_) {
      const auto found = saver.get("t", id);
      ASSERT_TRUE(found && *found) << id;
      EXPECT_EQ((*found)->state.read()->text(), state) << id;
      EXPECT_TRUE(listed.contains(id)) << id;
    }
  }

 private:
  std::map<std::string, std::string> states_;
};

class SaverProcesses : public testing::TestWithParam<Backend> {
 protected:
  StorePlace home{GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Every, SaverProcesses, testing::ValuesIn(surviving_backends()),
                         [](const auto& named) { return named.param.name; });

TEST_P(SaverProcesses, EveryAcknowledgedPutSurvivesSigkill) {
  Acknowledged acknowledged;
  for (int round = 0; round < 8; ++round) {
    ChildProcess putter("saver_putter", {home.location(), "puts", std::to_string(round), "100000"});
    for (int lines = 0; lines < 5 + round * 3; ++lines) {
      const auto line = putter.read_line();
      ASSERT_TRUE(line);
      ASSERT_TRUE(acknowledged.hear(*line)) << *line;
    }
    putter.kill();
    // What it said before it died counts, also if nobody had listened yet.
    for (const std::string& line : putter.read_to_end()) acknowledged.hear(line);
    EXPECT_TRUE(putter.wait().was_killed());
    home.settle();
  }
  const auto saver = open_saver_at(home.location()).value();
  acknowledged.expect_all_in(*saver);
  const auto store = open_store(home.location()).value();
  EXPECT_TRUE(store->upkeep().check()->is_sound());
}

TEST_P(SaverProcesses, TwoOnOneThreadLoseNothing) {
  constexpr int puts = 40;
  Acknowledged acknowledged;
  {
    ChildProcess one("saver_putter", {home.location(), "puts", "one", std::to_string(puts)});
    ChildProcess two("saver_putter", {home.location(), "puts", "two", std::to_string(puts)});
    for (ChildProcess* putter : {&one, &two}) {
      for (const std::string& line : putter->read_to_end()) {
        EXPECT_TRUE(acknowledged.hear(line) || line == "done") << line;
      }
      EXPECT_TRUE(putter->wait().is_clean());
    }
  }
  EXPECT_EQ(acknowledged.size(), std::size_t{2} * puts);
  const auto saver = open_saver_at(home.location()).value();
  acknowledged.expect_all_in(*saver);
}

TEST_P(SaverProcesses, AStepOfALiveProcessIsHeldAndOfADeadOneTakenOver) {
  const auto saver = open_saver_at(home.location()).value();
  ChildProcess claimer("saver_putter", {home.location(), "claim", "k"});
  ASSERT_EQ(claimer.read_line(), "claimed");

  const auto held = saver->claim_step("t", "k", "f").value();
  ASSERT_TRUE(std::holds_alternative<StepHolder>(held));
  EXPECT_NE(std::get<StepHolder>(held).pid, 0);
  EXPECT_FALSE(std::get<StepHolder>(held).worker.empty());
  const auto other = saver->claim_step("t", "k", "another request");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::conflict);

  claimer.kill();
  EXPECT_TRUE(claimer.wait().was_killed());
  const auto taken = saver->claim_step("t", "k", "f").value();
  ASSERT_TRUE(std::holds_alternative<StepClaim>(taken));
  EXPECT_TRUE(saver->fill_step(std::get<StepClaim>(taken), RawJson{}));
}

TEST_P(SaverProcesses, StepsThatWereDoneAreNotDoneAgain) {
  for (const std::size_t expected : {std::size_t{120}, std::size_t{0}}) {
    ChildProcess worker("saver_putter", {home.location(), "steps", "120"});
    std::size_t ran = 0;
    for (const std::string& line : worker.read_to_end()) {
      if (line.starts_with("ran")) ++ran;
    }
    EXPECT_TRUE(worker.wait().is_clean());
    EXPECT_EQ(ran, expected);
  }
}

}  // namespace
}  // namespace perdure
