// What follows from a session's summary row, and how totals add up.

#include <cstdint>

#include "perdure/store/entry.hpp"
#include "perdure/store/sessions.hpp"

namespace perdure {

namespace {

// Limits keep totals far from the end; the totals of a damaged row may be anywhere.
std::int64_t sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

}  // namespace

Tally& Tally::operator+=(const Tally& other) {
  turns = sum(turns, other.turns);
  steps = sum(steps, other.steps);
  tokens_in = sum(tokens_in, other.tokens_in);
  tokens_out = sum(tokens_out, other.tokens_out);
  cost_micros = sum(cost_micros, other.cost_micros);
  return *this;
}

bool Session::is_interrupted() const {
  return status == Status::active && !(holder && holder->alive);
}

}  // namespace perdure
