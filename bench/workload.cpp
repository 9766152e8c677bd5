// Reads what gen_workload.py wrote: a line per turn, fields apart by tabs, of which the first is
// the array of messages and the second the plan.

#include "workload.hpp"

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include "messages.h"
#include "perdure/core/id.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"

namespace perdure::bench {
namespace {

// What a turn of this size costs at a provider; bare_rows.c has the same numbers.
constexpr Tally turn_tally{
    .turns = 1, .steps = 2, .tokens_in = 900, .tokens_out = 240, .cost_micros = 17'300};

Turn read_turn(const std::string& line) {
  const std::size_t first = line.find('\t');
  const std::size_t second = line.find('\t', first + 1);
  std::array<element_t, 16> elements{};
  const std::size_t count = split_array(line.data(), first, elements.data(), elements.size());
  Turn turn;
  for (std::size_t i = 0; i < count; ++i) {
    turn.messages.emplace_back(elements[i].text, elements[i].bytes);
  }
  turn.plan = line.substr(first + 1, second - first - 1);
  return turn;
}

NewEntry make_entry(const char* channel, const char* kind, Fold fold, const std::string& text) {
  NewEntry entry;
  entry.channel = channel;
  entry.kind = kind;
  entry.fold = fold;
  entry.body = Body::from_text(text);
  return entry;
}

}  // namespace

std::uint64_t Turn::bytes() const {
  return std::accumulate(messages.begin(), messages.end(), std::uint64_t{plan.size()},
                         [](auto sum, const auto& message) { return sum + message.size(); });
}

std::vector<Turn> read_workload(const std::string& path) {
  std::ifstream file(path);
  std::vector<Turn> turns;
  for (std::string line; std::getline(file, line);) turns.push_back(read_turn(line));
  if (turns.empty()) {
    std::fprintf(stderr, "no workload in %s\n", path.c_str());
    std::exit(1);
  }
  return turns;
}

Batch make_batch(const Turn& turn, Position expected_head) {
  Batch batch;
  batch.id = mint<BatchTag>(random_ids());
  batch.expected_head = expected_head;
  batch.entries.reserve(turn.messages.size() + 1);
  for (const std::string& message : turn.messages) {
    batch.entries.push_back(make_entry("transcript", "message", Fold::append, message));
  }
  batch.entries.back().tally = turn_tally;
  batch.entries.push_back(make_entry("plan", "plan", Fold::replace, turn.plan));
  batch.checkpoint = NewCheckpoint{.reason = "turn", .label = {}, .metadata = "{}"};
  return batch;
}

}  // namespace perdure::bench
