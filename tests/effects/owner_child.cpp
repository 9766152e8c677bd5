// Plays the session as one of two owners, and stops itself where it is told:
//
//   effects_owner <location> <world's socket> <manner> <stop> <then> <ahead> <wait>
//
// <stop> is "moment N", on the way to the world or back (client.hpp); "commit N", right after
// that commit; or "never". It says "stops" and raises SIGSTOP. When somebody lets it go on,
// its lease time has passed by its own clock too; <then> "renew": and the first thing that
// happened since is a renewal, as when the thread that renews wakes up first.
//
// Its clock is <ahead> ms ahead of that of the others, so that it finds their leases at an end; or
// "real", the machine's, with a lease of `real_lease`. It waits <wait> ms for a living owner.
//
// It says what every player says (player_child.cpp). After "later CALL" it reads a line before it
// moves its clock.

#include <atomic>
#include <csignal>
#include <cstdint>
#include <fmt/format.h>
#include <functional>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <unistd.h>

#include "doubles/fake_clock.hpp"
#include "doubles/watched_store.hpp"
#include "effects/play.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/store.hpp"
#include "world/client.hpp"
#include "world/tools.hpp"

namespace {

using namespace perdure;  // NOLINT(google-build-using-namespace): a program of its own.

constexpr Duration lease_time{30'000};
constexpr Duration real_lease{3'000};

void say(const std::string& line) {
  const std::string text = line + "\n";
  if (write(STDOUT_FILENO, text.data(), text.size()) < 0) _exit(3);
}

// As to a parent that may have something to say first.
void say_and_listen(const std::string& line) {
  say(line);
  std::string answer;
  if (line.starts_with("later ")) std::getline(std::cin, answer);
}

int fail_with(const Error& error) {
  say(fmt::format("failed {}: {}", to_string(error.code), error.message));
  return 1;
}

struct Words {
  std::string location;
  std::string socket;
  effects::Manner manner = effects::Manner::goes_on;
  std::string stop;
  bool renews_late = false;
  std::string ahead;
  Duration wait{0};

  [[nodiscard]] bool is_real() const { return ahead == "real"; }
};

// Stops the process once, at the Nth of the things it is told of.
class Stop {
 public:
  Stop(const std::string& words, std::function<void()> afterwards)
      : kind_(words.substr(0, words.find(' '))), afterwards_(std::move(afterwards)) {
    if (kind_ != "never") at_ = std::stoull(words.substr(kind_.size() + 1));
  }

  void pass(const std::string& kind) {
    if (kind != kind_ || ++passed_ != at_) return;
    say("stops");
    raise(SIGSTOP);
    afterwards_();
  }

 private:
  std::string kind_;
  std::function<void()> afterwards_;
  std::uint64_t at_ = 0;
  std::atomic<std::uint64_t> passed_ = 0;
};

int run(const Words& words) {
  FakeClock clock;
  if (!words.is_real()) clock.advance(Duration(std::stoll(words.ahead)));
  OpenOptions options;
  if (!words.is_real()) options.clock = &clock;
  auto behind = open_store(words.location, options);
  if (!behind) return fail_with(behind.error());
  WatchedStore store(**behind);
  std::unique_ptr<Runtime> runtime;
  Stop stop(words.stop, [&] {
    clock.advance(lease_time);
    if (words.renews_late) (void)runtime->renew();
  });
  store.on_commit([&](const Lease& lease, const Batch& batch) {
    auto receipt = (*behind)->commit(lease, batch);
    stop.pass("commit");
    return receipt;
  });
  const WorldClient world(words.socket, [&](world::Moment) { stop.pass("moment"); });
  auto tools = Tools::of(world::every_tool(world));
  if (!tools) return fail_with(tools.error());
  auto started = Runtime::start(store, {.lease_time = words.is_real() ? real_lease : lease_time,
                                        .renews_itself = words.is_real(),
                                        .tools = *std::move(tools),
                                        .clock = options.clock});
  if (!started) return fail_with(started.error());
  runtime = *std::move(started);
  auto waits = effects::play({.runtime = *runtime,
                              .session = SessionId::parse("the-session").value(),
                              .world = world,
                              .clock = clock,
                              .manner = words.manner,
                              .say = say_and_listen,
                              .wait = words.wait});
  if (!waits) return fail_with(waits.error());
  say(*waits ? fmt::format("waits {}", (*waits)->call) : "done 0 0");
  return 0;
}

}  // namespace

int main(int count, char** words) {
  const std::span given(words, static_cast<std::size_t>(count));
  if (given.size() != 8) return 2;
  return run({.location = given[1],
              .socket = given[2],
              .manner = effects::manner_from(given[3]).value_or(effects::Manner::goes_on),
              .stop = given[4],
              .renews_late = std::string(given[5]) == "renew",
              .ahead = given[6],
              .wait = Duration(std::stoll(given[7]))});
}
