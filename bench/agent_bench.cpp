// What is measured of the agent.
//
//   turns  FILE WORKLOAD TURNS        the loop, without the body of a request: CPU of its turns
//   body   FORMAT WORKLOAD TURNS      bodies of a growing conversation: anthropic or chat
//   fill   FILE WORKLOAD MEGABYTES    a session with so much text
//   resume FILE                       session 0 taken up by this process: its memory at most
//   ask    FILE                       the same, and its next request is prepared
//
// Each prints one line of JSON.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <sys/resource.h>
#include <vector>

#include "agent_turns.hpp"
#include "bodies.hpp"
#include "perdure/agent/agent.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/records.hpp"
#include "sessions.hpp"
#include "turns.hpp"

namespace {

using namespace perdure;
using namespace perdure::bench;

void print(const Json& result) { std::printf("%s\n", result.text().c_str()); }

std::size_t number_in(const std::string& word) { return std::strtoul(word.c_str(), nullptr, 10); }

std::int64_t memory_at_most() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

// The text of a session is what its messages are stored as.
std::int64_t text_of_session(const State& state) {
  std::int64_t bytes = 0;
  for (const PlacedMessage& placed : state.transcript) {
    bytes += static_cast<std::int64_t>(to_json(placed.message).size());
  }
  return bytes;
}

// Two agents, one far ahead of the other, take turns: what disturbs one disturbs both.
void run_turns(const std::string& file, const std::string& workload, std::size_t count) {
  constexpr std::size_t measured = 100;
  const auto turns = read_turns(workload);
  const auto late_store = open_or_stop(file, Durability::process);
  const auto early_store = open_or_stop(file + ".early", Durability::process);
  PlayedAgent late(*late_store, turns);
  PlayedAgent early(*early_store, turns);
  for (std::size_t i = measured; i < count; ++i) late.play_turn();
  for (std::size_t i = 0; i < 10; ++i) early.play_turn();
  std::vector<double> late_us;
  std::vector<double> early_us;
  for (std::size_t i = 0; i < measured; ++i) {
    late_us.push_back(late.play_turn());
    early_us.push_back(early.play_turn());
  }
  print(Json::Object{{"early_us", median_of(early_us, 0, measured)},
                     {"late_us", median_of(late_us, 0, measured)}});
}

void build_bodies(const std::string& format, const std::string& workload, std::size_t count) {
  const BodyTimes times = build_growing_body(format, read_turns(workload), count);
  print(Json::Object{{"bytes", static_cast<std::int64_t>(times.bytes)},
                     {"extend_ms_per_mb", times.extend_ms_per_mb},
                     {"whole_ms_per_mb", times.whole_ms_per_mb}});
}

void fill(const std::string& file, const std::string& workload, std::size_t megabytes) {
  const auto turns = read_turns(workload);
  const auto store = open_or_stop(file, Durability::process);
  Players players(*store, turns, 1);
  [[maybe_unused]] const double took = players.play(turns_of_text(turns, megabytes << 20U));
}

// Memory is asked for before the text is counted, which takes some.
void resume(const std::string& file, bool asks) {
  const auto store = open_or_stop(file, Durability::full);
  const auto agent = value_or_stop("agent", Agent::start(*store, idle_agent()));
  auto resumed = value_or_stop("resume", agent->resume(session_id(0)));
  if (asks) {
    AgentObserver nobody;
    value_or_stop("run", resumed.session.run(user_says("Go on."), nobody));
  }
  const std::int64_t memory = memory_at_most();
  print(Json::Object{{"memory", memory},
                     {"text", text_of_session(resumed.session.session().state())}});
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const std::string what = words.empty() ? "" : words[0];
  if (words.size() == 4 && what == "turns") {
    run_turns(words[1], words[2], number_in(words[3]));
  } else if (words.size() == 4 && what == "body") {
    build_bodies(words[1], words[2], number_in(words[3]));
  } else if (words.size() == 4 && what == "fill") {
    fill(words[1], words[2], number_in(words[3]));
  } else if (words.size() == 2 && (what == "resume" || what == "ask")) {
    resume(words[1], what == "ask");
  } else {
    std::fprintf(stderr, "see the head of agent_bench.cpp\n");
    return 2;
  }
  return 0;
}
