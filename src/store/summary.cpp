// What follows from a session's summary row, and how totals add up.

#include "perdure/store/entry.hpp"
#include "perdure/store/sessions.hpp"

namespace perdure {

Tally& Tally::operator+=(const Tally& other) {
  turns += other.turns;
  steps += other.steps;
  tokens_in += other.tokens_in;
  tokens_out += other.tokens_out;
  cost_micros += other.cost_micros;
  return *this;
}

bool Session::is_interrupted() const {
  return status == Status::active && !(holder && holder->alive);
}

}  // namespace perdure
