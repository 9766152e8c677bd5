// Stores for the command line to be measured on.
//
//   sessions FILE COUNT          so many sessions; all but the oldest tenth are sub-agents
//   turns    FILE WORKLOAD TURNS session 0 with so many turns, a call in each: three steps a turn
//
// Sub-agents are hidden from the list, so that it has to look past them.

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "sessions.hpp"
#include "turns.hpp"

namespace {

using namespace perdure;
using namespace perdure::bench;

NewSession numbered_session(std::size_t number, std::size_t grown_up) {
  NewSession session{.id = session_id(number), .status = Status::completed};
  session.annotation.title = "Refund order " + std::to_string(number);
  session.annotation.opening = "Please pay this order back, and write to the customer.";
  if (number >= grown_up) {
    session.origin = {
        .session = session_id(number % grown_up), .at = {}, .lineage = Lineage::child};
  }
  return session;
}

void fill_sessions(const std::string& file, std::size_t count) {
  const auto store = open_or_stop(file, Durability::process);
  for (std::size_t i = 0; i < count; ++i) {
    value_or_stop("create", store->sessions().create(numbered_session(i, count / 10)));
  }
}

void fill_turns(const std::string& file, const std::string& workload, std::size_t count) {
  const auto turns = read_turns(workload);
  const auto store = open_or_stop(file, Durability::process);
  Players players(*store, turns, 1);
  [[maybe_unused]] const double took = players.play(count);
}

std::size_t number_in(const std::string& word) { return std::strtoul(word.c_str(), nullptr, 10); }

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 3 && words[0] == "sessions") {
    fill_sessions(words[1], number_in(words[2]));
  } else if (words.size() == 4 && words[0] == "turns") {
    fill_turns(words[1], words[2], number_in(words[3]));
  } else {
    std::fprintf(stderr, "see the head of cli_bench.cpp\n");
    return 2;
  }
  return 0;
}
