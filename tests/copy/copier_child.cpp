// Copies one store into another, and dies at a chosen write to one of them (kill_switch.hpp):
//
//   copy_copier <source> <target> <source|target> <before|during|after> <write to die at>
//
// Says "writes <to the source> <to the target>" at the end of a run nobody killed.

#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <span>
#include <string>
#include <unistd.h>

#include "doubles/counting_vfs.hpp"
#include "doubles/fake_clock.hpp"
#include "doubles/kill_switch.hpp"
#include "perdure/store/store.hpp"
#include "perdure/store/upkeep.hpp"

namespace {

using namespace perdure;  // NOLINT(google-build-using-namespace): a program of its own.

void say(const std::string& line) {
  const std::string text = line + "\n";
  if (write(STDOUT_FILENO, text.data(), text.size()) < 0) _exit(3);
}

struct End {
  std::string location;
  KillSwitch kill_switch;
};

int run(End source, End target) {
  FakeClock clock;
  OpenOptions options;
  options.clock = &clock;
  auto from = source.kill_switch.open(source.location, options);
  auto to = target.kill_switch.open(target.location, options);
  if (!from || !to) {
    say("cannot open: " + (from ? to : from).error().message);
    return 1;
  }
  if (auto copied = move_sessions(**from, **to); !copied) {
    say("failed: " + copied.error().message);
    return 1;
  }
  from->reset();
  to->reset();
  say(fmt::format("writes {} {}", source.kill_switch.writes(), target.kill_switch.writes()));
  return 0;
}

}  // namespace

int main(int count, char** words) {
  const std::span<char*> given(words, static_cast<std::size_t>(count));
  if (given.size() != 6) return 2;
  const auto moment = moment_from(given[4]);
  if (!moment) return 2;
  const std::uint64_t write = std::stoull(given[5]);
  const bool at_source = std::string(given[3]) == "source";
  return run({.location = given[1], .kill_switch = {at_source ? write : 0, *moment}},
             {.location = given[2], .kill_switch = {at_source ? 0 : write, *moment}});
}
