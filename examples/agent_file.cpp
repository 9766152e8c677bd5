// Reads agent files and prints the agents they describe: perdure_agent_file FILE…
//
// Errors in a file are reported line by line, as by a compiler, and the exit code is 1.

#include <cstdlib>
#include <iostream>
#include <optional>
#include <span>
#include <string>

#include "perdure/agent/agent.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"

using namespace perdure;

namespace {

std::optional<std::string> from_environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

// [show]
// The argument of Agent::start.
Result<AgentSpec> agent_of(const std::string& path) {
  return make_agent_spec(
      path, {.environment = from_environment, .state_folder = "/var/tmp/perdure-agents"},
      {.clock = system_clock(), .ids = random_ids()});
}

int show(const std::string& path) {
  const auto agent = agent_of(path);
  if (!agent) {
    std::cerr << agent.error().message << '\n';
    return 1;
  }
  std::cout << path << ": model " << agent->setup.model << ", tools";
  for (const auto name : agent->tools.names()) std::cout << ' ' << name;
  std::cout << '\n';
  return 0;
}
// [end]

// [changed]
// The changes that a resume under `now` reports for a session started under `before`.
void tell_changes(const AgentSpec& before, const AgentSpec& now) {
  for (const auto& part : changed_parts(before.digest, now.digest)) {
    std::cout << "changed: " << part << '\n';
  }
}
// [end]

}  // namespace

int main(int argc, char** argv) {
  int code = 0;
  for (const std::string file : std::span(argv, static_cast<std::size_t>(argc)).subspan(1)) {
    if (show(file) != 0) code = 1;
  }
  if (argc == 3 && code == 0) {
    tell_changes(agent_of(argv[1]).value(), agent_of(argv[2]).value());
  }
  return code;
}
