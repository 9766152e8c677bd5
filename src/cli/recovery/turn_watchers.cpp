// Numbers follow from the totals: a step that was recorded adds one. Events of tools come on their
// threads, one at a time; the session's state is read only in events on the turn's own thread. Lines for
// programs are written whole and at once: a reader may act on each.

#include "recovery/turn_watchers.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "context/command_context.hpp"
#include "perdure/agent/agent.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/runtime/conversation.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/session.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "recovery/turn_outcome.hpp"
#include "runtime/api/read.hpp"
#include "screen/display.hpp"
#include "screen/text.hpp"

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

template <class... F>
struct EventCases : F... {
  using F::operator()...;
};

}  // namespace

void tell_retry(CommandContext& context, const RetryNotice& notice) {
  context.talk().line({{fmt::format("  the model did not answer ({}); asked again in {}",
                                    notice.why, exact_span(notice.wait)),
                        Ink::yellow}});
}

TurnPrinter::TurnPrinter(CommandContext& context, Store& store, const Session& session)
    : context_(context),
      store_(store),
      session_(session),
      streams_(context.is_terminal()),
      redraws_(context.talk().can_redraw()),
      number_(open_turn(store, session)),
      told_(session.state().totals),
      asked_at_(context.io().clock->uptime()) {}

TurnPrinter::~TurnPrinter() { break_line(); }

void TurnPrinter::break_line() {
  if (shows_running_) context_.talk().bytes("\r\x1b[K");
  shows_running_ = false;
  if (const std::string rest = text_.rest(); streams_ && !rest.empty()) {
    context_.screen().bytes(visible(rest, Lines::prose));
  }
  if (is_in_line_) context_.screen().bytes("\n");
  is_in_line_ = false;
  context_.screen().flush();
}

void TurnPrinter::tell(std::string_view kind, std::string_view name, std::string_view effect,
                       Piece state, Duration took) {
  break_line();
  const std::size_t room = context_.talk().columns() < wide_screen ? 12 : 22;
  context_.talk().line(
      {{fmt::format(" {:<5}", fmt::format("{}.{}", number_.turn, number_.step)), Ink::dim},
       {fmt::format("{:<6} {:<{}} {:<11} ", kind, name, room, effect)},
       {fmt::format("{:<11}", state.text), state.ink},
       {fmt::format(" {:>6}", exact_span(took)), Ink::dim}});
}

void TurnPrinter::on_text(std::string_view piece) {
  const std::string whole = text_.take(piece);
  if (!streams_ || whole.empty()) return;
  if (shows_running_) break_line();
  context_.screen().bytes(visible(whole, Lines::prose));
  context_.screen().flush();
  is_in_line_ = !whole.ends_with('\n');
}

void TurnPrinter::on_retry(const RetryNotice& notice) {
  break_line();
  tell_retry(context_, notice);
}

void TurnPrinter::on_event(const AgentEvent& event) {
  std::visit([this](const auto& told) { take(told); }, event);
}

void TurnPrinter::take(const CallStarted& event) {
  started_[event.call] = context_.io().clock->uptime();
  show_running(event.tool, "");
}

void TurnPrinter::on_progress(const CallProgress& progress) {
  show_running(progress.tool, progress.line);
}

void TurnPrinter::show_running(std::string_view tool, std::string_view line) {
  if (!redraws_) return;
  break_line();
  const std::string_view space = line.empty() ? "" : " ";
  context_.talk().bytes(
      clipped(visible(fmt::format("       tool   {} runs…{}{}", tool, space, line)),
              context_.talk().columns() - 1));
  context_.talk().flush();
  shows_running_ = true;
}

void TurnPrinter::take(const CallReturned& event) {
  const auto started = started_.find(event.call);
  if (started == started_.end()) return;
  took_[event.call] =
      std::chrono::duration_cast<Duration>(context_.io().clock->uptime() - started->second);
}

// What was told is told of one commit, and a response comes before what it asked for.
void TurnPrinter::take(const CallTold& event) { calls_.push_back(event); }

void TurnPrinter::tell_call(const CallTold& told) {
  ++number_.step;
  const auto call = store_.ledger().read(session_.id(), told.call);
  tell("tool", call ? call->tool : "", call ? to_string(call->effect) : "",
       shown(told.state, context_.talk().is_terminal()), took_[told.call]);
}

void TurnPrinter::take(const CallWaits& /*event*/) { break_line(); }

// A step that no call was told of is the model's.
void TurnPrinter::take(const Recorded& /*event*/) {
  const Tally& now = session_.state().totals;
  if (now.steps > told_.steps + static_cast<std::int64_t>(calls_.size())) {
    ++number_.step;
    const std::int64_t tokens = now.tokens_in + now.tokens_out - told_.tokens_in - told_.tokens_out;
    tell("model", session_.state().setup ? session_.state().setup->model : "",
         fmt::format("{} tok", short_count(tokens)), answered(session_.state()),
         std::chrono::duration_cast<Duration>(context_.io().clock->uptime() - asked_at_));
  }
  for (const CallTold& call : calls_) tell_call(call);
  calls_.clear();
  told_ = now;
  asked_at_ = context_.io().clock->uptime();
}

void TurnPrinter::take(const BudgetWarning& event) {
  break_line();
  context_.talk().line({{fmt::format("  {} of the budget of {} is used", dollars(event.used_micros),
                                     dollars(event.limit_micros)),
                         Ink::yellow}});
}

// What ends the turn is told at its end.
void TurnPrinter::take(const ModelFailed& event) {
  break_line();
  if (!event.goes_on) return;
  context_.talk().line(
      {{fmt::format("  the model failed, and is asked to go on: {}", event.why), Ink::yellow}});
}

void TurnPrinter::take(const TurnEnded& /*event*/) { break_line(); }

void write_event(CommandContext& context, std::string_view name, Json::Object members) {
  members.insert(members.begin(), {"event", Json(name)});
  context.output().begin_list("perdure.run_event/1");
  context.output().item(Json(std::move(members)));
  context.screen().flush();
}

void TurnEventWriter::write(std::string_view name, Json::Object members) {
  if (const std::string rest = text_.rest(); !rest.empty()) {
    write_event(context_, "text", {{"text", rest}});
  }
  write_event(context_, name, std::move(members));
}

void TurnEventWriter::on_text(std::string_view piece) {
  const std::string whole = text_.take(piece);
  if (!whole.empty()) write_event(context_, "text", {{"text", whole}});
}

void TurnEventWriter::on_retry(const RetryNotice& notice) {
  write("retry", {{"attempt", notice.attempt},
                  {"wait_ms", notice.wait.count()},
                  {"why", std::string(notice.why)}});
}

void TurnEventWriter::on_event(const AgentEvent& event) {
  std::visit(
      EventCases{
          [&](const CallStarted& call) {
            write("call_started",
                  {{"call", name_of(call.call)}, {"tool", call.tool}, {"attempt", call.attempt}});
          },
          [&](const CallReturned& call) {
            write("call_returned", {{"call", name_of(call.call)}, {"tool", call.tool}});
          },
          [&](const CallTold& call) {
            write("call_told", {{"call", name_of(call.call)},
                                {"state", to_string(call.state)},
                                {"result", call.result.content},
                                {"is_error", call.result.is_error}});
          },
          [&](const CallWaits& call) {
            write("waits", {{"waiting", as_json(session_, call.waiting)}});
          },
          [&](const Recorded& recorded) { write("recorded", {{"head", recorded.head}}); },
          [&](const BudgetWarning& warning) {
            write("budget",
                  {{"limit_micros", warning.limit_micros}, {"used_micros", warning.used_micros}});
          },
          [&](const ModelFailed& failed) {
            write("model_failed", {{"why", failed.why}, {"goes_on", failed.goes_on}});
          },
          [&](const TurnEnded&) {}},  // The last line of all says it.
      event);
}

void TurnEventWriter::on_progress(const CallProgress& progress) {
  write("call_progress", {{"call", name_of(progress.call)},
                          {"tool", std::string(progress.tool)},
                          {"line", std::string(progress.line)}});
}

}  // namespace perdure::cli
