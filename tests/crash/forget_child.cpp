// Forgets what a store holds, and dies at a chosen write:
//
//   crash_forgetter <location> <before|during|after> <write to die at>
//
// Says each step that was answered, and at the end of a run nobody killed "writes <count>".

#include <fmt/format.h>
#include <span>
#include <string>
#include <unistd.h>

#include "crash/forgetting.hpp"
#include "doubles/fake_clock.hpp"
#include "doubles/kill_switch.hpp"
#include "perdure/store/store.hpp"

namespace {

using namespace perdure;  // NOLINT(google-build-using-namespace): a program of its own.

void say(const std::string& line) {
  const std::string text = line + "\n";
  if (write(STDOUT_FILENO, text.data(), text.size()) < 0) _exit(3);
}

int run(const std::string& location, KillSwitch& kill_switch) {
  FakeClock clock;
  OpenOptions options;
  options.clock = &clock;
  auto store = kill_switch.open(location, options);
  if (!store) {
    say("cannot open: " + store.error().message);
    return 1;
  }
  clock.advance(std::chrono::hours(1));
  if (auto done = forget_all(**store, clock, say); !done) {
    say("failed: " + done.error().message);
    return 1;
  }
  store->reset();
  say(fmt::format("writes {}", kill_switch.writes()));
  return 0;
}

}  // namespace

int main(int count, char** words) {
  const std::span<char*> arguments(words, static_cast<std::size_t>(count));
  if (arguments.size() != 4) return 2;
  const auto moment = moment_from(arguments[2]);
  if (!moment) return 2;
  KillSwitch kill_switch(std::stoull(arguments[3]), *moment);
  return run(arguments[1], kill_switch);
}
