// Plays the session and dies where it is told:
//
//   effects_player <location> <world's socket> <manner> <write to die at>
//                  <before|during|after it> <moment to die at>
//
// A write is one of the store's (kill_switch.hpp); a moment is one on the way to the world or back; 0: never.
// Says what it buys and has bought (play.hpp), and at its end one of
//
//   done <writes> <moments>
//   waits <call>

#include <csignal>
#include <cstdint>
#include <fmt/format.h>
#include <memory>
#include <span>
#include <string>
#include <unistd.h>

#include "doubles/fake_clock.hpp"
#include "doubles/kill_switch.hpp"
#include "effects/play.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/store.hpp"
#include "world/client.hpp"
#include "world/tools.hpp"

namespace {

using namespace perdure;  // NOLINT(google-build-using-namespace): a program of its own.

void say(const std::string& line) {
  const std::string text = line + "\n";
  if (write(STDOUT_FILENO, text.data(), text.size()) < 0) _exit(3);
}

int stop(const Error& error) {
  say(fmt::format("failed {}: {}", to_string(error.code), error.message));
  return 1;
}

struct Words {
  std::string location;
  std::string socket;
  effects::Manner manner = effects::Manner::goes_on;
  std::uint64_t write = 0;
  Moment death = Moment::during;
  std::uint64_t moment = 0;
};

int run(const Words& words) {
  KillSwitch kill_switch(words.write, words.death);
  std::atomic<std::uint64_t> moments = 0;
  const WorldClient world(words.socket, [&](world::Moment) {
    if (++moments == words.moment) kill(getpid(), SIGKILL);
  });
  FakeClock clock;
  OpenOptions options;
  options.clock = &clock;
  auto store = kill_switch.open(words.location, options);
  if (!store) return stop(store.error());
  auto tools = Tools::of(effects::unlucky(world::every_tool(world)));
  if (!tools) return stop(tools.error());
  auto runtime = Runtime::start(
      **store, {.renews_itself = false, .tools = *std::move(tools), .clock = &clock});
  if (!runtime) return stop(runtime.error());
  auto waits = effects::play({.runtime = **runtime,
                              .session = SessionId::parse("the-session").value(),
                              .world = world,
                              .clock = clock,
                              .manner = words.manner,
                              .say = say});
  if (!waits) return stop(waits.error());
  say(*waits ? fmt::format("waits {}", (*waits)->call)
             : fmt::format("done {} {}", kill_switch.writes(), moments.load()));
  return 0;
}

}  // namespace

int main(int count, char** words) {
  const std::span given(words, static_cast<std::size_t>(count));
  if (given.size() != 7) return 2;
  return run({.location = given[1],
              .socket = given[2],
              .manner = effects::manner_from(given[3]).value_or(effects::Manner::goes_on),
              .write = std::stoull(given[4]),
              .death = moment_from(given[5]).value_or(Moment::during),
              .moment = std::stoull(given[6])});
}
