// The workload's turns, played by an agent: its model says what the workload says, and builds no
// body.

#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "perdure/agent/agent.hpp"
#include "perdure/store/store.hpp"
#include "turns.hpp"

namespace perdure::bench {

/// An agent with one session.
class PlayedAgent {
 public:
  /// `store` and `turns` must outlive this.
  PlayedAgent(Store& store, const std::vector<PlayedTurn>& turns);

  /// Plays the next turn, and returns the CPU that it took, of all threads, in microseconds.
  double play_turn();

 private:
  const std::vector<PlayedTurn>& turns_;
  std::size_t now_ = 0;
  std::unique_ptr<Agent> agent_;
  std::optional<AgentSession> session_;
};

/// Of the values from `first` up to `end`.
[[nodiscard]] double median_of(const std::vector<double>& values, std::size_t first,
                               std::size_t end);

/// How many turns have so many bytes of messages, as they are stored.
[[nodiscard]] std::size_t turns_of_text(const std::vector<PlayedTurn>& turns, std::size_t bytes);

/// An agent without tools. Its requests are written as Anthropic wants them, and answered at once.
[[nodiscard]] AgentSpec idle_agent();

}  // namespace perdure::bench
