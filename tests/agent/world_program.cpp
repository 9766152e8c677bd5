// A tool of the world as a program, as make_exec_tool runs one:
//
//   world_program <look|effect|keyed|verify> <tool>
//
// WORLD_SOCKET is where the world is, WORLD_STEPS the steps that are counted (steps.hpp),
// WORLD_PROGRAMS a file in which it leaves its process. WORLD_GATE, if it is there, begins the names
// of pipes: it says in `<gate>.<what>.out` which process it is, and which other it has started that
// never ends, and goes no further before it is told so in `<gate>.<what>.in`.

#include <cstddef>
#include <fcntl.h>
#include <fstream>
#include <iostream>
#include <iterator>
#include <span>
#include <string>
#include <unistd.h>
#include <variant>

#include "agent/steps.hpp"
#include "agent/words.hpp"
#include "perdure/core/json.hpp"
#include "world/client.hpp"
#include "world/wire.hpp"

namespace {

using namespace perdure;  // NOLINT(google-build-using-namespace): a program of its own.

constexpr int nothing_happened = 75;

int verdict_of(const world::Reply& reply) {
  const auto* const answered = std::get_if<world::Answered>(&reply);
  if (answered == nullptr) return 1;
  if (!world::flag_of(answered->answer, "landed")) return nothing_happened;
  const Json* const given = answered->answer.find("answer");
  std::cout << (given == nullptr ? "" : given->text());
  return 0;
}

int outcome_of(const world::Reply& reply) {
  if (std::holds_alternative<world::Denied>(reply)) return nothing_happened;
  const auto* const answered = std::get_if<world::Answered>(&reply);
  if (answered == nullptr) return 1;
  std::cout << answered->answer.text();
  return 0;
}

void leave_process(const std::string& path) {
  const std::string line = std::to_string(::getpid()) + "\n";
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (::write(file, line.data(), line.size()) < 0) ::_exit(3);
  ::close(file);
}

void pass_gate(const std::string& gate) {
  const pid_t other = ::fork();
  if (other == 0) {
    for (;;) ::pause();
  }
  std::ofstream(gate + ".out") << ::getpid() << " " << other << std::endl;
  std::string word;
  std::ifstream in(gate + ".in");
  std::getline(in, word);
}

int run(const std::string& what, const std::string& tool, const agents::Words& environment) {
  const std::string given(std::istreambuf_iterator<char>(std::cin), {});
  const auto args = parse_json(given);
  if (!args) return nothing_happened;
  const std::string op = world::text_of(*args, "op");
  const agents::Steps steps(agents::steps_from(environment.text("WORLD_STEPS")));
  const WorldClient client(environment.text("WORLD_SOCKET"), [&](world::Moment) { steps.take(); });
  if (const auto gate = environment.find("WORLD_GATE")) pass_gate(*gate + "." + what);
  if (what == "verify") return verdict_of(client.verify_op(op));
  leave_process(environment.text("WORLD_PROGRAMS"));
  if (what == "look") return outcome_of(client.look(op, tool));
  return outcome_of(client.effect({.op = op,
                                   .key = environment.text("PERDURE_KEY"),
                                   .tool = tool,
                                   .args = *args,
                                   .honours_key = what == "keyed"}));
}

}  // namespace

int main(int count, char** words, char** environment) {
  const std::span given(words, static_cast<std::size_t>(count));
  if (given.size() != 3) return 2;
  return run(given[1], given[2], agents::Words::from_environment(environment));
}
