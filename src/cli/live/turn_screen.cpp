// Numbers follow from the totals, as everywhere: a step that was recorded adds one. Events of tools
// come on their threads, one at a time; the session's state is looked at only in those that come on
// the turn's own.

#include "live/turn_screen.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "desk.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/agent/turn.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/conversation.hpp"
#include "perdure/runtime/read.hpp"
#include "perdure/runtime/session.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"
#include "screen/screen.hpp"
#include "screen/text.hpp"
#include "screen/words.hpp"

namespace perdure::cli {
namespace {

constexpr std::size_t look_back_page = 256;
constexpr std::size_t wide_screen = 72;

// The turn that is open, and how many of its steps are done: read backwards, as far as it goes.
StepNumber open_turn(Store& store, const Session& session) {
  StepNumber number{.turn = session.state().totals.turns + 1};
  LogQuery query{.order = Order::newest_first, .limit = look_back_page};
  for (;;) {
    const auto page = store.log().read(session.id(), query);
    if (!page || page->empty()) return number;  // A number is not worth a failure.
    for (const Entry& entry : *page) {
      if (entry.tally.turns > 0) return number;
      number.step += entry.tally.steps;
    }
    if (page->back().position <= 1) return number;
    query.to = page->back().position - 1;
  }
}

// What was cut off is not an answer yet.
Piece answered(const State& state) {
  for (const PlacedMessage& placed : state.transcript | std::views::reverse) {
    if (placed.message.role != Role::assistant) continue;
    if (placed.message.is_partial) return {"cut off", Ink::yellow};
    break;
  }
  return {"answered", Ink::dim};
}

}  // namespace

void tell_retry(Desk& desk, const RetryNotice& notice) {
  desk.talk().line({{fmt::format("  the model did not answer ({}); asked again in {}", notice.why,
                                 exact_span(notice.wait)),
                     Ink::yellow}});
}

TurnScreen::TurnScreen(Desk& desk, Store& store, const Session& session)
    : desk_(desk),
      store_(store),
      session_(session),
      streams_(desk.is_terminal()),
      redraws_(desk.talk().can_redraw()),
      number_(open_turn(store, session)),
      told_(session.state().totals),
      asked_at_(desk.world().clock->uptime()) {}

TurnScreen::~TurnScreen() { break_line(); }

void TurnScreen::break_line() {
  if (shows_running_) desk_.talk().bytes("\r\x1b[K");
  shows_running_ = false;
  if (const std::string rest = text_.rest(); streams_ && !rest.empty()) {
    desk_.screen().bytes(visible(rest, Lines::prose));
  }
  if (is_in_line_) desk_.screen().bytes("\n");
  is_in_line_ = false;
  desk_.screen().flush();
}

void TurnScreen::tell(std::string_view kind, std::string_view name, std::string_view effect,
                      Piece state, Duration took) {
  break_line();
  const std::size_t room = desk_.talk().columns() < wide_screen ? 12 : 22;
  desk_.talk().line(
      {{fmt::format(" {:<5}", fmt::format("{}.{}", number_.turn, number_.step)), Ink::dim},
       {fmt::format("{:<6} {:<{}} {:<11} ", kind, name, room, effect)},
       {fmt::format("{:<11}", state.text), state.ink},
       {fmt::format(" {:>6}", exact_span(took)), Ink::dim}});
}

void TurnScreen::on_text(std::string_view piece) {
  const std::string whole = text_.take(piece);
  if (!streams_ || whole.empty()) return;
  if (shows_running_) break_line();
  desk_.screen().bytes(visible(whole, Lines::prose));
  desk_.screen().flush();
  is_in_line_ = !whole.ends_with('\n');
}

void TurnScreen::on_retry(const RetryNotice& notice) {
  break_line();
  tell_retry(desk_, notice);
}

void TurnScreen::on_event(const AgentEvent& event) {
  std::visit([this](const auto& told) { take(told); }, event);
}

void TurnScreen::take(const CallStarted& event) {
  started_[event.call] = desk_.world().clock->uptime();
  show_running(event.tool, "");
}

void TurnScreen::on_progress(const CallProgress& progress) {
  show_running(progress.tool, progress.line);
}

void TurnScreen::show_running(std::string_view tool, std::string_view line) {
  if (!redraws_) return;
  break_line();
  const std::string_view space = line.empty() ? "" : " ";
  desk_.talk().bytes(clipped(visible(fmt::format("       tool   {} runs…{}{}", tool, space, line)),
                             desk_.talk().columns() - 1));
  desk_.talk().flush();
  shows_running_ = true;
}

void TurnScreen::take(const CallReturned& event) {
  const auto started = started_.find(event.call);
  if (started == started_.end()) return;
  took_[event.call] =
      std::chrono::duration_cast<Duration>(desk_.world().clock->uptime() - started->second);
}

// What was told is told of one commit, and a response comes before what it asked for.
void TurnScreen::take(const CallTold& event) { calls_.push_back(event); }

void TurnScreen::tell_call(const CallTold& told) {
  ++number_.step;
  const auto call = store_.ledger().read(session_.id(), told.call);
  tell("tool", call ? call->tool : "", call ? to_string(call->effect) : "",
       shown(told.state, desk_.talk().is_terminal()), took_[told.call]);
}

void TurnScreen::take(const CallWaits& /*event*/) { break_line(); }

// A step that no call was told of is the model's.
void TurnScreen::take(const Recorded& /*event*/) {
  const Tally& now = session_.state().totals;
  if (now.steps > told_.steps + static_cast<std::int64_t>(calls_.size())) {
    ++number_.step;
    const std::int64_t tokens = now.tokens_in + now.tokens_out - told_.tokens_in - told_.tokens_out;
    tell("model", session_.state().setup ? session_.state().setup->model : "",
         fmt::format("{} tok", short_count(tokens)), answered(session_.state()),
         std::chrono::duration_cast<Duration>(desk_.world().clock->uptime() - asked_at_));
  }
  for (const CallTold& call : calls_) tell_call(call);
  calls_.clear();
  told_ = now;
  asked_at_ = desk_.world().clock->uptime();
}

void TurnScreen::take(const BudgetWarning& event) {
  break_line();
  desk_.talk().line({{fmt::format("  {} of the budget of {} is used", dollars(event.used_micros),
                                  dollars(event.limit_micros)),
                      Ink::yellow}});
}

// What ends the turn is told at its end.
void TurnScreen::take(const ModelFailed& event) {
  break_line();
  if (!event.goes_on) return;
  desk_.talk().line(
      {{fmt::format("  the model failed, and is asked to go on: {}", event.why), Ink::yellow}});
}

void TurnScreen::take(const TurnEnded& /*event*/) { break_line(); }

}  // namespace perdure::cli
