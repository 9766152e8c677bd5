// The steps that an agent and the programs it runs take on their way, counted in one file; at a
// chosen one the agent is killed, or stopped, by whoever takes it.
//
// A program that kills its agent goes on, as one does that outlives the process that started it;
// or it dies with it, as when the machine does.

#pragma once

#include <cstdint>
#include <string>
#include <sys/types.h>
#include <utility>

namespace perdure::agents {

struct StepsSpec {
  std::string file{};
  pid_t agent = 0;
  std::uint64_t at = 0;  ///< The step; 0: none.
  int signal = 9;        ///< SIGKILL, or SIGSTOP.
  bool takes_along = false;
};

class Steps {
 public:
  explicit Steps(StepsSpec spec) : spec_(std::move(spec)) {}

  /// In any process, on any thread. Returns when the agent is dead, if this was the step; an agent
  /// that stops itself, when somebody lets it go on: true.
  bool take() const;
  /// How many there were, of all processes.
  [[nodiscard]] std::uint64_t taken() const;
  [[nodiscard]] const StepsSpec& spec() const { return spec_; }

 private:
  StepsSpec spec_;
};

/// One word for a program's environment, and back.
[[nodiscard]] std::string to_text(const StepsSpec& spec);
[[nodiscard]] StepsSpec steps_from(const std::string& text);

}  // namespace perdure::agents
