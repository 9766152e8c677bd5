// Runs the script on a store and says over its output what was acknowledged:
//
//   crash_writer <location> <worker> <small|large> <before|during|after> <write to die at>
//
//   lease <session> <fence>
//   step <number> <answer>          one line a step, written after the store answered
//   writes <count>                  all of them (kill_switch.hpp); the last line of a run nobody killed
//
// The clock stands still but for the steps' own times: a successor that had to wait
// for a lease to end would wait for ever.

#include <fmt/format.h>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unistd.h>

#include "crash/script.hpp"
#include "doubles/fake_clock.hpp"
#include "doubles/kill_switch.hpp"
#include "perdure/store/store.hpp"

namespace {

using namespace perdure;  // NOLINT(google-build-using-namespace): a program of its own.

// One write a line: a line is there as a whole or not at all.
void say(const std::string& line) {
  const std::string text = line + "\n";
  if (write(STDOUT_FILENO, text.data(), text.size()) < 0) _exit(3);
}

std::string answer_text(const Action& step) {
  return step.answer ? *step.answer
                     : "refused: " + std::string(to_string(step.answer.error().code));
}

int run(const std::string& location, const std::string& worker, Load load,
        KillSwitch& kill_switch) {
  FakeClock clock;
  OpenOptions options;
  options.clock = &clock;
  auto store = kill_switch.open(location, options);
  if (!store) {
    say("cannot open: " + store.error().message);
    return 1;
  }
  const auto id = WorkerId::parse(worker).value();
  if (auto enrolled = (*store)->ownership().enroll({.id = id, .host = "here", .pid = getpid()});
      !enrolled) {
    say("cannot enroll: " + enrolled.error().message);
    return 1;
  }
  Script script(**store, clock, id, load);
  script.on_lease([](const Lease& lease) {
    say(fmt::format("lease {} {}", lease.session.text(), lease.fence));
  });
  script.run([](std::size_t number, const Action& step) {
    say(fmt::format("step {} {}", number, answer_text(step)));
  });
  store->reset();
  say(fmt::format("writes {}", kill_switch.writes()));
  return 0;
}

}  // namespace

int main(int count, char** words) {
  const std::span<char*> arguments(words, static_cast<std::size_t>(count));
  if (arguments.size() != 6) return 2;
  const auto moment = moment_from(arguments[4]);
  if (!moment) return 2;
  KillSwitch kill_switch(std::stoull(arguments[5]), *moment);
  const Load load = std::string_view(arguments[3]) == "large" ? Load::large : Load::small;
  return run(arguments[1], arguments[2], load, kill_switch);
}
