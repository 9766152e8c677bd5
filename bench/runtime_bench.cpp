// Our side of what is measured of the runtime, and what it is compared with.
//
//   turns   FILE WORKLOAD TURNS SESSIONS   turns with a gated call, each session on a thread
//   commits FILE WORKLOAD TURNS SESSIONS   the same commits, made by the store alone
//   resume  FILE                           session 0, in this process that knows nothing of it
//
// Each prints one line of JSON.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <malloc.h>
#include <ratio>
#include <string>
#include <vector>

#include "perdure/core/json.hpp"
#include "perdure/runtime/runtime.hpp"
#include "sessions.hpp"
#include "turns.hpp"

namespace {

using namespace perdure;
using namespace perdure::bench;

void print(const Json& result) { std::printf("%s\n", result.text().c_str()); }

struct Many {
  std::string file;
  std::vector<PlayedTurn> turns;
  std::size_t count = 0;
  std::size_t sessions = 0;
};

void print_rate(const Many& many, double seconds) {
  print(Json::Object{{"turns", static_cast<std::int64_t>(many.count * many.sessions)},
                     {"turns_per_s", static_cast<double>(many.count * many.sessions) / seconds}});
}

void play_turns(const Many& many) {
  const auto store = open_or_stop(many.file, Durability::full);
  Players players(*store, many.turns, many.sessions);
  print_rate(many, players.play(many.count));
}

void play_commits(const Many& many) {
  const auto batches = record_commits(many.turns, many.count);
  const auto store = open_or_stop(many.file, Durability::full);
  print_rate(many, commit_recorded(*store, batches, many.sessions));
}

std::uint64_t bytes_in_use() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

void resume(const std::string& file) {
  using SteadyClock = std::chrono::steady_clock;
  const auto start = SteadyClock::now();
  const auto store = open_or_stop(file, Durability::full);
  const auto runtime = value_or_stop("runtime", Runtime::start(*store));
  const std::uint64_t before = bytes_in_use();
  const auto resumed = value_or_stop("resume", runtime->resume(session_id(0)));
  const std::chrono::duration<double, std::micro> took = SteadyClock::now() - start;
  const std::uint64_t after = bytes_in_use();
  print(Json::Object{
      {"load_us", took.count()},
      {"entries", static_cast<std::int64_t>(resumed.report.entries)},
      {"memory", static_cast<std::int64_t>(after - before)},
      {"messages", static_cast<std::int64_t>(resumed.session.state().transcript.size())}});
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 2 && words[0] == "resume") {
    resume(words[1]);
    return 0;
  }
  if (words.size() != 5 || (words[0] != "turns" && words[0] != "commits")) {
    std::fprintf(stderr, "see the head of runtime_bench.cpp\n");
    return 2;
  }
  const Many many{.file = words[1],
                  .turns = read_turns(words[2]),
                  .count = std::strtoul(words[3].c_str(), nullptr, 10),
                  .sessions = std::strtoul(words[4].c_str(), nullptr, 10)};
  if (words[0] == "turns") {
    play_turns(many);
  } else {
    play_commits(many);
  }
  return 0;
}
