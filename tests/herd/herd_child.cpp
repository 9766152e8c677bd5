// One of several processes that play the same sessions, whichever they get hold of:
//
//   herd_player <location> <world's socket> <sessions> <threads> <seed>
//
// Says, with the machine's uptime at the end of each line:
//
//   reserving, asking, answered OP  as every player does (effects/play.hpp)
//   done SESSION, waits SESSION   it came to its end; it needs a decision, or time
//   lost SESSION                  another took it over
//   trouble WHAT                  what nobody should ever meet
//
// Ends when every session is done or waits.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <fmt/format.h>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "doubles/fake_clock.hpp"
#include "effects/play.hpp"
#include "herd/members.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/store.hpp"
#include "world/client.hpp"
#include "world/tools.hpp"

namespace {

using namespace perdure;  // NOLINT(google-build-using-namespace): a program of its own.

void say(const std::string& line) {
  const std::string text = fmt::format("{} {}\n", line, system_clock().uptime().count());
  if (write(STDOUT_FILENO, text.data(), text.size()) < 0) _exit(3);
}

struct Words {
  std::string location;
  std::string socket;
  int sessions = 0;
  int threads = 0;
  std::uint64_t seed = 0;
};

/// Those that still have to be played.
class Rest {
 public:
  Rest(int sessions, std::uint64_t seed) {
    for (int i = 0; i < sessions; ++i) numbers_.push_back(i);
    std::ranges::shuffle(numbers_, std::mt19937_64(seed));
  }
  std::optional<int> take() {
    const std::lock_guard lock(mutex_);
    if (numbers_.empty()) return std::nullopt;
    const int number = numbers_.front();
    numbers_.pop_front();
    return number;
  }
  void put_back(int number) {
    const std::lock_guard lock(mutex_);
    numbers_.push_back(number);
  }

 private:
  std::mutex mutex_;
  std::deque<int> numbers_;
};

// Whether it needs to be played again.
bool play_once(Runtime& runtime, const WorldClient& world, int number) {
  FakeClock unused;
  const auto played = effects::play({.runtime = runtime,
                                     .session = herd::session_of(number),
                                     .world = world,
                                     .clock = unused,
                                     .manner = herd::manner_of(number),
                                     .say = say,
                                     .wait = std::chrono::milliseconds(300),
                                     .prefix = herd::prefix_of(number),
                                     .moves_clock = false});
  if (played) {
    say(fmt::format("{} {}", *played ? "waits" : "done", number));
    return false;
  }
  const ErrorCode code = played.error().code;
  if (code == ErrorCode::lease_lost) say(fmt::format("lost {}", number));
  // Another may have begun it since it was looked for.
  const bool is_expected = code == ErrorCode::lease_lost || code == ErrorCode::lease_held ||
                           code == ErrorCode::already_exists;
  if (!is_expected) {
    say(fmt::format("trouble {}: {}: {}", number, to_string(code), played.error().message));
  }
  return is_expected;
}

void play_all(Runtime& runtime, const WorldClient& world, const Words& words) {
  Rest rest(words.sessions, words.seed);
  std::vector<std::jthread> threads;
  threads.reserve(static_cast<std::size_t>(words.threads));
  for (int i = 0; i < words.threads; ++i) {
    threads.emplace_back([&] {
      while (const auto number = rest.take()) {
        if (play_once(runtime, world, *number)) rest.put_back(*number);
      }
    });
  }
}

int run(const Words& words) {
  OpenOptions options;
  options.write_wait = std::chrono::minutes(1);
  auto store = open_store(words.location, options);
  const WorldClient world(words.socket);
  auto tools = Tools::of(world::every_tool(world));
  if (!store || !tools) {
    say("trouble opening: " + (store ? tools.error().message : store.error().message));
    return 1;
  }
  auto runtime =
      Runtime::start(**store, {.lease_time = herd::lease_time, .tools = *std::move(tools)});
  if (!runtime) {
    say("trouble starting: " + runtime.error().message);
    return 1;
  }
  play_all(**runtime, world, words);
  return 0;
}

}  // namespace

int main(int count, char** words) {
  const std::span given(words, static_cast<std::size_t>(count));
  if (given.size() != 6) return 2;
  return run({.location = given[1],
              .socket = given[2],
              .sessions = std::stoi(given[3]),
              .threads = std::stoi(given[4]),
              .seed = std::stoull(given[5])});
}
