// Stdin is empty, unless the line itself pipes something into a command.

#include "shell_fixture.hpp"

#include <array>
#include <cstddef>
#include <cstdio>
#include <stdio.h>
#include <stdlib.h>
#include <string>
#include <sys/wait.h>

#include "doubles/places.hpp"
#include "fixture.hpp"

namespace perdure::cli {
namespace {

std::string quoted(const std::string& line) {
  std::string text = "'";
  for (const char letter : line) text += letter == '\'' ? "'\\''" : std::string(1, letter);
  return text + "'";
}

}  // namespace

Said shell(const std::string& store, const std::string& line) {
  const std::string script = "perdure() { " + quoted(perdure_program()) +
                             " \"$@\"; }; export PERDURE_STORE=" + quoted(store) +
                             " HOME=/nonexistent; " + line;
  FILE* pipe = ::popen(("bash -c " + quoted(script) + " 2>&1 </dev/null").c_str(), "r");
  Said said;
  std::array<char, 4096> room{};
  while (const std::size_t size = std::fread(room.data(), 1, room.size(), pipe))
    said.out.append(room.data(), size);
  const int status = ::pclose(pipe);
  said.exit = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return said;
}

}  // namespace perdure::cli
