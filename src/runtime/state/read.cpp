// Reading a session's log page by page: its line, its state, and what is found out from either. A blob
// is read when its text is needed, and only then.

#include "runtime/api/read.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <fmt/format.h>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/api/guarded.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/records.hpp"
#include "runtime/api/state_details.hpp"
#include "store/api/lookup.hpp"
#include "store/api/seam.hpp"

namespace perdure {
namespace {

constexpr std::size_t page_entries = 512;

// A line to the session's present head that cannot be read means that the store is damaged.
Error explained(Store& store, const SessionId& session, Point as_of, Error error) {
  if (error.code != ErrorCode::not_found || as_of.kind() != Point::Kind::position) return error;
  const auto row = store.sessions().read(session);
  if (!row || row->head != as_of.number()) return error;
  return {ErrorCode::corrupted,
          fmt::format("the last entry of session {}, at position {}, is missing: the store is "
                      "damaged, and perdure check says more",
                      session.text(), row->head),
          session.text()};
}

// Until `take` says that it has enough. Fails: as Log::read; as `take`.
Result<void> walk(Store& store, const SessionId& session, Point as_of,
                  const std::function<Result<bool>(Entry&)>& take) {
  LogQuery query{.as_of = as_of, .limit = page_entries};
  for (;;) {
    auto page = store.log().read(session, query);
    if (!page) {
      return std::unexpected(explained(store, session, as_of, std::move(page).error()));
    }
    for (Entry& entry : *page) {
      auto goes_on = take(entry);
      if (!goes_on) return forward(goes_on);
      if (!*goes_on) return {};
    }
    if (page->size() < page_entries) return {};
    query.from = page->back().position + 1;
  }
}

// What the runtime itself put into a blob for its size is read back; a user's channel keeps its
// references, and a note's own blob is read when the note is asked for.
bool is_in_blob_for_size(const Entry& entry) {
  return is_reserved(entry.channel) && !(entry.channel == "scratchpad" && entry.kind == "blob");
}

}  // namespace

Result<void> read_line(Store& store, const SessionId& session, Point as_of,
                       const std::function<Result<void>(Entry&)>& take) {
  if (as_of == Point::head()) {
    auto row = store.sessions().read(session);
    if (!row) return forward(row);
    if (row->head == 0) return {};
    as_of = Point::position(row->head);
  }
  return walk(store, session, as_of, [&](Entry& entry) -> Result<bool> {
    auto taken = guarded("`take`", [&] { return take(entry); });
    if (!taken) return forward(taken);
    return true;
  });
}

Result<State> read_state(Store& store, const SessionId& session, Point as_of) {
  State state;
  auto read = read_line(store, session, as_of, [&](Entry& entry) -> Result<void> {
    if (is_in_blob_for_size(entry)) {
      if (auto loaded = load_blob(store.blobs(), entry); !loaded) return loaded;
    }
    fold(state, entry);
    return {};
  });
  if (!read) return forward(read);
  return state;
}

// What a fork shows of its parent's calls is in the parent's ledger.
Result<std::vector<Position>> find_damage(Store& store, const SessionId& session,
                                          const State& state) {
  std::vector<Position> places;
  for (const Skipped& skipped : state.details->skipped) {
    if (skipped.reason == SkipReason::damaged) places.push_back(skipped.position);
  }
  if (state.details->open_calls.empty()) return places;
  auto row = store.sessions().read(session);
  if (!row) return forward(row);
  const bool is_fork = row->parent && row->parent->lineage == Lineage::fork;
  const Position shared = is_fork ? row->parent->position : 0;
  for (const auto& [position, open] : state.details->open_calls) {
    if (position <= shared) continue;
    auto call = store.ledger().read(session, position);
    if (!call && call.error().code != ErrorCode::not_found) return forward(call);
    if (!call) places.push_back(position);
  }
  return places;
}

namespace {

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
    // The turn's rest; that it continues is of the next one.
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
  if (row->head > 0) {
    auto read = walk(store, session, Point::position(row->head),
                     [&](const Entry& entry) -> Result<bool> { return finder.take(entry); });
    if (!read) return forward(read);
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
