// Reads agent files and prints the agents they describe: perdure_agent_file FILE…
//
// Errors in a file are reported line by line, as by a compiler, and the exit code is 1.

#include "perdure/agent/agent_file.hpp"

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
Result<AgentSpec> agent_of(const AgentFile& file) {
  return make_agent_spec(
      file, {.environment = from_environment, .state_folder = "/var/tmp/perdure-agents"},
      {.clock = system_clock(), .ids = random_ids()});
}

int show(const std::string& path) {
  const auto file = read_agent_file(path);
  if (!file) {
    std::cerr << file.error().message << '\n';
    return 1;
  }
  const auto agent = agent_of(*file);
  if (!agent) {
    std::cerr << agent.error().message << '\n';
    return 1;
  }
  std::cout << file->name << ": model " << agent->setup.model << ", tools";
  for (const auto name : agent->tools.names()) std::cout << ' ' << name;
  std::cout << '\n';
  return 0;
}
// [end]

// [changed]
// The changes that a resume under `now` reports for a session started under `before`.
void tell_changes(const AgentFile& before, const AgentFile& now) {
  for (const auto& part : changed_parts(agent_digest(before), agent_digest(now))) {
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
    tell_changes(read_agent_file(argv[1]).value(), read_agent_file(argv[2]).value());
  }
  return code;
}
