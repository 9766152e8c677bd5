// Reading and folding cost about the same, so a thread of its own reads, a few pages ahead. A line
// that surely fits into one page needs none. A blob is read when its text is needed, and only then.

#include "state/read_log.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <expected>
#include <fmt/format.h>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/api/guarded.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/calls.hpp"
#include "perdure/runtime/conversation.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/records.hpp"

namespace perdure {
namespace {

using Page = Result<std::vector<Entry>>;

constexpr std::size_t page_entries = 512;
// What is held twice, as rows of the store and as what was made of them.
constexpr std::size_t pages_ahead = 4;

// As far as can be told without decoding it.
bool holds_plan(const Entry& entry) {
  return entry.channel == "plan" && entry.kind == "plan" && entry.condition == Condition::intact &&
         entry.body.codec() != Codec::blob;
}

bool is_last(const Page& page) { return !page || page->size() < page_entries; }

class PagesAhead {
 public:
  PagesAhead(std::function<Page(Position)> read, Position from)
      : read_(std::move(read)),
        reader_([this, from](const std::stop_token& stop) { run(stop, from); }) {}

  // In exchange for the one before, or for an empty one. Not after the last one.
  void next(Page& page) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !pages_.empty(); });
    used_.push_back(std::exchange(page, std::move(pages_.front())));
    pages_.pop_front();
    // To wake a thread costs as much as a page; so not for each.
    if (pages_.size() <= pages_ahead / 2) changed_.notify_one();
  }

 private:
  void run(const std::stop_token& stop, Position from) {
    for (bool is_done = false; !is_done && !stop.stop_requested();) {
      free_used();
      Page page = read_(from);
      is_done = is_last(page);
      if (!is_done) from = page->back().position + 1;
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, stop, [&] { return pages_.size() < pages_ahead; })) return;
      pages_.push_back(std::move(page));
      changed_.notify_one();
    }
  }

  // Where they were made: memory that two threads hand to and fro is waited for.
  void free_used() {
    std::vector<Page> used;
    const std::scoped_lock lock(mutex_);
    used.swap(used_);
  }

  std::function<Page(Position)> read_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Page> pages_;
  std::vector<Page> used_;
  std::jthread reader_;  // The last member: it ends before what it uses.
};

Result<void> take_all(Page& page, const std::function<Result<void>(Entry&)>& take) {
  if (!page) return forward(page);
  for (Entry& entry : *page) {
    if (auto taken = guarded("`take`", [&] { return take(entry); }); !taken) return taken;
  }
  return {};
}

}  // namespace

void LogFold::take(Entry& entry) {
  if (!holds_plan(entry)) return fold(state_, entry);
  count(state_, entry);
  if (!plan_) plan_.emplace();
  std::swap(*plan_, entry);  // The thread that made the replaced entry also frees it.
}

bool LogFold::read_last_plan() {
  if (!plan_) return true;
  auto plan = plan_from_json(plan_->body.bytes());
  if (plan) state_.plan = *std::move(plan);
  return plan.has_value();
}

void LogFold::take_plan(const Entry& entry) {
  if (holds_plan(entry)) fold(plans_, entry);
}

State LogFold::finish() {
  if (plans_.plan) state_.plan = std::move(plans_.plan);
  for (Skipped& skipped : plans_.skipped) state_.skipped.push_back(std::move(skipped));
  std::ranges::sort(state_.skipped, {}, &Skipped::position);
  return std::move(state_);
}

Error missing_head(Store& store, const SessionId& session, Position head, Error error) {
  const auto row = store.sessions().read(session);
  const bool stays = row && head > 0 && row->head == head;
  if (error.code != ErrorCode::not_found || !stays) return error;
  return {ErrorCode::corrupted,
          fmt::format("the last entry of session {}, at position {}, is missing: the store is "
                      "damaged, and perdure check says more",
                      session.text(), head),
          session.text()};
}

Result<void> read_line(Store& store, const SessionId& session, Point as_of,
                       const std::function<Result<void>(Entry&)>& take) {
  if (as_of == Point::head()) {
    auto row = store.sessions().read(session);
    if (!row) return forward(row);
    if (row->head == 0) return {};
    auto read = read_line(store, session, at_position(row->head), take);
    if (read) return read;
    return std::unexpected(missing_head(store, session, row->head, std::move(read).error()));
  }
  const auto read_from = [&](Position from) {
    return store.log().read(session, {.as_of = as_of, .from = from, .limit = page_entries});
  };
  Page page = std::vector<Entry>();
  if (as_of.kind() == Point::Kind::position && as_of.number() <= page_entries) {
    page = read_from(1);
    return take_all(page, take);
  }
  PagesAhead ahead(read_from, 1);
  do {
    ahead.next(page);
    if (auto taken = take_all(page, take); !taken) return taken;
  } while (!is_last(page));
  return {};
}

namespace {

// What the runtime itself put into a blob for its size is read back; a user's channel keeps its
// references, and a note's own blob is read when somebody asks for the note.
bool is_in_blob_for_size(const Entry& entry) {
  return is_reserved(entry.channel) && !(entry.channel == "scratchpad" && entry.kind == "blob");
}

Result<void> load_for_fold(Store& store, Entry& entry) {
  if (!is_in_blob_for_size(entry)) return {};
  return load_blob(store.blobs(), entry);
}

}  // namespace

Result<State> read_state(Store& store, const SessionId& session, Point as_of) {
  LogFold line;
  Position head = 0;
  auto read = read_line(store, session, as_of, [&](Entry& entry) -> Result<void> {
    if (auto loaded = load_for_fold(store, entry); !loaded) return loaded;
    head = entry.position;
    line.take(entry);
    return {};
  });
  if (!read) return forward(read);
  if (!line.read_last_plan()) {
    auto plans = store.log().read(session, {.as_of = at_position(head), .channel = "plan"});
    if (!plans) return forward(plans);
    for (Entry& entry : *plans) {
      if (auto loaded = load_for_fold(store, entry); !loaded) return forward(loaded);
      line.take_plan(entry);
    }
  }
  return line.finish();
}

// What a fork shows of its parent's calls is in the parent's ledger.
Result<std::vector<Position>> find_damage(Store& store, const SessionId& session,
                                          const State& state) {
  std::vector<Position> places;
  for (const Skipped& skipped : state.skipped) {
    if (skipped.reason == SkipReason::damaged) places.push_back(skipped.position);
  }
  if (state.open_calls.empty()) return places;
  auto row = store.sessions().read(session);
  if (!row) return forward(row);
  const bool is_fork = row->parent && row->parent->lineage == Lineage::fork;
  const Position shared = is_fork ? row->parent->position : 0;
  for (const auto& [position, open] : state.open_calls) {
    if (position <= shared) continue;
    auto call = store.ledger().read(session, position);
    if (!call && call.error().code != ErrorCode::not_found) return forward(call);
    if (!call) places.push_back(position);
  }
  return places;
}

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

namespace {

bool is_made_again(Store& store, const SessionId& session, const Call& call) {
  if (call.effect == EffectClass::read_only) return false;
  const auto intent =
      store.log().read(session, {.as_of = Point::position(call.position), .from = call.position});
  if (!intent || intent->empty()) return true;
  const auto read = intent_from_json(intent->front().body.bytes());
  return !read || read->repeat == to_string(Repeat::each_call);
}

Result<void> add_effects(Store& store, const SessionId& session, Position position,
                         std::vector<Call>& again) {
  auto calls = store.ledger().list({.session = session,
                                    .states = {CallState::dispatched, CallState::succeeded,
                                               CallState::in_doubt, CallState::abandoned},
                                    .after = CallId{session, position},
                                    .limit = limit_max});
  if (!calls) return forward(calls);
  for (Call& call : *calls) {
    if (is_made_again(store, session, call)) again.push_back(std::move(call));
  }
  return {};
}

}  // namespace

Result<std::vector<Call>> effects_after(Store& store, const SessionId& session, Position position) {
  std::vector<Call> again;
  std::vector<SessionId> seen{session};
  for (SessionId at = session;;) {
    if (auto added = add_effects(store, at, position, again); !added) return forward(added);
    auto row = store.sessions().read(at);
    if (!row && row.error().code != ErrorCode::not_found) return forward(row);
    if (!row || !row->parent || row->parent->lineage != Lineage::fork) return again;
    // Past the point where it left its parent, its line has nothing of that one.
    if (position >= row->parent->position) return again;
    // An id may be used again, also by a fork of its own descendant.
    if (std::ranges::find(seen, row->parent->session) != seen.end()) return again;
    seen.push_back(row->parent->session);
    at = row->parent->session;
  }
}

std::string_view to_string(Carried as) {
  switch (as) {
    case Carried::runs:
      return "runs";
    case Carried::replays:
      return "replays";
    case Carried::told:
      return "told";
    case Carried::refused:
      return "refused";
  }
  return "";
}

}  // namespace perdure
