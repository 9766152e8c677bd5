// Numbers of turns and steps follow from what entries add to the totals: a step adds one step, the
// last one of a turn adds the turn as well.

#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <optional>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/read.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/records.hpp"

namespace perdure {
namespace {

constexpr std::size_t step_page = 512;

// Looks for the place, entry by entry, and for what the same commit adds after it.
class StepFinder {
 public:
  StepFinder(std::int64_t turn, std::optional<std::int64_t> step) : turn_(turn), step_(step) {}

  /// False once nothing further can change the answer.
  bool take(const Entry& entry) {
    const StepNumber number = counter_.take(entry);
    if (found_ && !belongs_after(entry)) return false;
    if (found_ || is_there(entry, number)) found_ = entry.position;
    if (number.turn == turn_ && number.step > 0 && step_ == 0) return false;
    return number.turn <= turn_;
  }

  [[nodiscard]] std::optional<Position> found() const { return found_; }

 private:
  [[nodiscard]] bool is_there(const Entry& entry, const StepNumber& number) const {
    if (number.turn != turn_) return false;
    if (!step_) return entry.tally.turns > 0;
    if (*step_ == 0) return number.step == 0 && entry.channel == "transcript";
    return entry.tally.steps > 0 && number.step == *step_;
  }

  [[nodiscard]] bool belongs_after(const Entry& entry) const {
    if (step_ == 0) return entry.channel == "transcript";
    const bool is_next_request = entry.kind == to_string(BudgetChange::reserve);
    // The turn's rest; that it goes on again is of the next one.
    const bool is_rest = entry.kind == status_kind(Status::waiting);
    return (entry.channel == "budget" && !is_next_request) || entry.channel == "plan" ||
           (entry.channel == "status" && is_rest);
  }

  std::int64_t turn_;
  std::optional<std::int64_t> step_;
  StepCounter counter_;
  std::optional<Position> found_;
};

}  // namespace

StepNumber StepCounter::take(const Entry& entry) {
  if (has_ended_ && (entry.channel == "transcript" || entry.channel == "requests")) {
    now_ = {.turn = now_.turn + 1};
    has_ended_ = false;
  }
  now_.step += entry.tally.steps;
  has_ended_ = has_ended_ || entry.tally.turns > 0;
  return now_;
}

Result<Position> find_step(Store& store, const SessionId& session, std::int64_t turn,
                           std::optional<std::int64_t> step) {
  auto row = store.sessions().read(session);
  if (!row) return forward(row);
  StepFinder finder(turn, step);
  LogQuery query{.limit = step_page};
  for (bool goes_on = row->head > 0; goes_on;) {
    query.as_of = Point::position(row->head);
    auto page = store.log().read(session, query);
    if (!page) return forward(page);
    for (const Entry& entry : *page) {
      goes_on = finder.take(entry);
      if (!goes_on) break;
    }
    if (page->size() < step_page) break;
    query.from = page->back().position + 1;
  }
  if (const auto found = finder.found()) return *found;
  if (!step) {
    return fail(ErrorCode::not_found,
                fmt::format("turn {} of {} has not ended: it has ended {} so far", turn,
                            session.text(), row->tally.turns));
  }
  return fail(ErrorCode::not_found,
              fmt::format("{} has no step {}.{}", session.text(), turn, *step));
}

}  // namespace perdure
