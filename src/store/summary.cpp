// What follows from a session's summary row, and how totals add up.

#include <cstdint>

#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"

namespace perdure {

namespace {

// What a store accepts never runs over; what is read from a damaged one may, and then wraps.
void add(std::int64_t& total, std::int64_t number) {
  total = static_cast<std::int64_t>(static_cast<std::uint64_t>(total) +
                                    static_cast<std::uint64_t>(number));
}

}  // namespace

Tally& Tally::operator+=(const Tally& other) {
  add(turns, other.turns);
  add(steps, other.steps);
  add(tokens_in, other.tokens_in);
  add(tokens_out, other.tokens_out);
  add(cost_micros, other.cost_micros);
  return *this;
}

bool SessionSummary::is_interrupted() const {
  return status == Status::active && moved_to.empty() && !(holder && holder->alive);
}

}  // namespace perdure
