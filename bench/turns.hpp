// The workload's turns, played through the runtime: a question, a response with a call, its
// result, a last response with the plan. Four commits, each with a sync.

#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/store.hpp"
#include "workload.hpp"

namespace perdure::bench {

struct PlayedTurn {
  Message question{};
  Message call{};
  std::string result{};
  Message last{};
  Plan plan{};
};

/// Stops the process if a turn is not of that shape.
[[nodiscard]] std::vector<PlayedTurn> read_turns(const std::string& path);

/// A runtime whose tools answer as the turns say, and its sessions 0 .. count - 1.
class Players {
 public:
  /// `store` and `turns` must outlive this.
  Players(Store& store, const std::vector<PlayedTurn>& turns, std::size_t count);

  /// Plays `turns` turns of every session, each on a thread of its own. Returns the seconds it took.
  [[nodiscard]] double play(std::size_t turns);

 private:
  void play_one(std::size_t number, std::size_t turns);
  [[nodiscard]] Tools tools_of_turns();

  const std::vector<PlayedTurn>& turns_;
  /// What the call of a session that is open now answers.
  std::map<std::string, const std::string*> answers_;
  std::unique_ptr<Runtime> runtime_;
  std::vector<Session> sessions_;
};

/// The batches that one session commits in so many turns, the first of them its creation's.
[[nodiscard]] std::vector<Batch> record_commits(const std::vector<PlayedTurn>& turns,
                                                std::size_t count);

/// The same commits without a runtime: in `sessions` new sessions, each on a thread of its own.
/// Returns the seconds that all but their creation took.
[[nodiscard]] double commit_recorded(Store& store, const std::vector<Batch>& batches,
                                     std::size_t sessions);

}  // namespace perdure::bench
