// Numbers follow from the totals: a step that was recorded adds one. Events of tools come on their
// threads, one at a time; the session's state is read only in events on the turn's own thread. Lines for
// programs are written whole and at once: a reader may act on each. A turn that failed is reported
// like one that ended: the session is there, and can continue.

#include <chrono>
#include <csignal>
#include <map>
#include <ostream>
#include <ranges>
#include <variant>

#include "context/calls.hpp"
#include "context/command_context.hpp"
#include "perdure/agent/agent.hpp"
#include "perdure/agent/provider.hpp"
#include "recovery/live_agent.hpp"
#include "runtime/api/read.hpp"
#include "runtime/api/session.hpp"
#include "runtime/api/state_details.hpp"

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

std::string_view waits_for(const Waiting& waiting) {
  switch (waiting.what) {
    case Waiting::For::approval:
      return asks_people(waiting.tool) ? "answer" : "approval";
    case Waiting::For::decision:
      return "decision";
    case Waiting::For::time:
      return "time";
  }
  return "";
}

// To the runtime an answer is an approval with words.
std::string why_of(const Waiting& waiting) {
  return waits_for(waiting) == "answer" ? "it waits for an answer" : waiting.why;
}

Json waiting_json(const SessionId& session, const Waiting& waiting) {
  return Json::Object{{"call", call_name(session, waiting.call)},
                      {"tool", waiting.tool},
                      {"for", waits_for(waiting)},
                      {"why", why_of(waiting)},
                      {"until", as_json(waiting.until)}};
}

// A line on stderr: a wait is never silent.
void tell_retry(CommandContext& context, const RetryNotice& notice) {
  context.talk().line({{fmt::format("  the model did not answer ({}); asked again in {}",
                                    notice.why, exact_span(notice.wait)),
                        Ink::yellow}});
}

/// For a person: the model's words as they come, and a line for each step.
class TurnPrinter : public AgentObserver {
 public:
  TurnPrinter(CommandContext& context, Store& store, const Session& session)
      : context_(context),
        store_(store),
        session_(session),
        streams_(context.is_terminal()),
        redraws_(context.talk().can_redraw()),
        number_(open_turn(store, session)),
        told_(session.state().totals),
        asked_at_(context.io().clock->uptime()) {}
  ~TurnPrinter() override { break_line(); }

  void on_text(std::string_view piece) override {
    const std::string whole = text_.take(piece);
    if (!streams_ || whole.empty()) return;
    if (shows_running_) break_line();
    context_.screen().bytes(visible(whole, Lines::prose));
    context_.screen().flush();
    is_in_line_ = !whole.ends_with('\n');
  }

  void on_retry(const RetryNotice& notice) override {
    break_line();
    tell_retry(context_, notice);
  }

  void on_event(const AgentEvent& event) override {
    std::visit(
        EventCases{[&](const CallStarted& call) {
                     started_[call.call] = context_.io().clock->uptime();
                     show_running(call.tool, "");
                   },
                   [&](const CallReturned& call) {
                     const auto started = started_.find(call.call);
                     if (started != started_.end()) took_[call.call] = since(started->second);
                   },
                   // These events are of one commit, and a response comes before what it asked for.
                   [&](const CallTold& call) { calls_.push_back(call); },
                   [&](const Recorded&) { tell_steps(); },
                   [&](const BudgetWarning& warning) {
                     warn(fmt::format("  {} of the budget of {} is used",
                                      dollars(warning.used_micros), dollars(warning.limit_micros)));
                   },
                   // What ends the turn is reported at its end.
                   [&](const ModelFailed& failed) {
                     if (!failed.goes_on) return break_line();
                     warn(fmt::format("  the model failed, and is asked to go on: {}", failed.why));
                   },
                   [&](const auto&) { break_line(); }},
        event);
  }

  void on_progress(const CallProgress& progress) override {
    show_running(progress.tool, progress.line);
  }

 private:
  [[nodiscard]] Duration since(Uptime begin) const {
    return std::chrono::duration_cast<Duration>(context_.io().clock->uptime() - begin);
  }

  void warn(std::string words) {
    break_line();
    context_.talk().line({{std::move(words), Ink::yellow}});
  }

  /// In the place of what was shown so before; it is taken back by whatever comes next.
  void show_running(std::string_view tool, std::string_view line) {
    if (!redraws_) return;
    break_line();
    const std::string_view space = line.empty() ? "" : " ";
    context_.talk().bytes(
        clipped(visible(fmt::format("       tool   {} runs…{}{}", tool, space, line)),
                context_.talk().columns() - 1));
    context_.talk().flush();
    shows_running_ = true;
  }

  /// Ends the line that the model's words are in, and takes back the line of what runs.
  void break_line() {
    if (shows_running_) context_.talk().bytes("\r\x1b[K");
    shows_running_ = false;
    if (const std::string rest = text_.rest(); streams_ && !rest.empty()) {
      context_.screen().bytes(visible(rest, Lines::prose));
    }
    if (is_in_line_) context_.screen().bytes("\n");
    is_in_line_ = false;
    context_.screen().flush();
  }

  /// A step that no call was told of is the model's.
  void tell_steps() {
    const Tally& now = session_.state().totals;
    if (now.steps > told_.steps + static_cast<std::int64_t>(calls_.size())) {
      const std::int64_t tokens =
          now.tokens_in + now.tokens_out - told_.tokens_in - told_.tokens_out;
      tell_step("model", session_.state().setup ? session_.state().setup->model : "",
                fmt::format("{} tok", short_count(tokens)), answered(session_.state()),
                since(asked_at_));
    }
    for (const CallTold& told : calls_) {
      const auto call = store_.ledger().read(session_.id(), told.call);
      tell_step("tool", call ? call->tool : "", call ? to_string(call->effect) : "",
                shown(told.state, context_.talk().is_terminal()), took_[told.call]);
    }
    calls_.clear();
    told_ = now;
    asked_at_ = context_.io().clock->uptime();
  }

  void tell_step(std::string_view kind, std::string_view name, std::string_view effect,
                 const Piece& state, Duration took) {
    break_line();
    ++number_.step;
    const std::size_t room = context_.talk().columns() < wide_screen ? 12 : 22;
    context_.talk().line(
        {{fmt::format(" {:<5}", fmt::format("{}.{}", number_.turn, number_.step)), Ink::dim},
         {fmt::format("{:<6} {:<{}} {:<11} ", kind, name, room, effect)},
         {fmt::format("{:<11}", state.text), state.ink},
         {fmt::format(" {:>6}", exact_span(took)), Ink::dim}});
  }

  CommandContext& context_;
  Store& store_;
  const Session& session_;
  const bool streams_;  ///< stdout is a terminal.
  const bool redraws_;  ///< stderr is one that can take a line back.
  WholeText text_;
  bool is_in_line_ = false;
  bool shows_running_ = false;
  StepNumber number_;
  Tally told_;  ///< Totals as of the last step that was told.
  Uptime asked_at_;
  std::vector<CallTold> calls_;  ///< Told since the last commit was.
  std::map<Position, Uptime> started_;
  std::map<Position, Duration> took_;
};

/// For a program that reads the document at the end: only waits are reported, on stderr.
class RetryPrinter : public AgentObserver {
 public:
  explicit RetryPrinter(CommandContext& context) : context_(context) {}
  void on_retry(const RetryNotice& notice) override { tell_retry(context_, notice); }

 private:
  CommandContext& context_;
};

/// For a program that follows it.
class TurnEventWriter : public AgentObserver {
 public:
  TurnEventWriter(CommandContext& context, SessionId session)
      : context_(context), session_(std::move(session)) {}

  void on_text(std::string_view piece) override {
    const std::string whole = text_.take(piece);
    if (!whole.empty()) write_event(context_, "text", {{"text", whole}});
  }

  void on_retry(const RetryNotice& notice) override {
    write("retry", {{"attempt", notice.attempt},
                    {"wait_ms", notice.wait.count()},
                    {"why", std::string(notice.why)}});
  }

  void on_event(const AgentEvent& event) override {
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
              write("waits", {{"waiting", waiting_json(session_, call.waiting)}});
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

  void on_progress(const CallProgress& progress) override {
    write("call_progress", {{"call", name_of(progress.call)},
                            {"tool", std::string(progress.tool)},
                            {"line", std::string(progress.line)}});
  }

 private:
  void write(std::string_view name, Json::Object members) {
    if (const std::string rest = text_.rest(); !rest.empty()) {
      write_event(context_, "text", {{"text", rest}});
    }
    write_event(context_, name, std::move(members));
  }

  [[nodiscard]] std::string name_of(Position call) const { return call_name(session_, call); }

  CommandContext& context_;
  SessionId session_;
  WholeText text_;
};

bool is_over(const Session& session) {
  return session.status() == Status::cancelled || session.status() == Status::failed;
}

Exit exit_of_interruption(const TurnOutcome& end, const Session& session) {
  if (end.signal == SIGTERM) return Exit::terminated;
  if (end.signal != 0) return Exit::interrupted;
  return is_over(session) ? Exit::failed : Exit::resting;
}

std::string why_of(const TurnOutcome& end) {
  if (end.error) return end.error->message;
  return waits_for_a_word(end) ? why_of(*end.report.waiting) : end.report.why;
}

std::string command_for(const CommandContext& context, const Waiting& waiting,
                        const std::string& session) {
  const std::string call = fmt::format("{}:{}", session, waiting.call);
  switch (waiting.what) {
    case Waiting::For::approval:
      return allow_command(context, waiting.tool, call);
    case Waiting::For::decision:
      return settle_command(context, call);
    case Waiting::For::time:
      return context.command("resume " + session);
  }
  return {};
}

Exit exit_of(const TurnOutcome& end, const Session& session) {
  if (end.error) {
    // What a provider refuses is not a misuse of the command line.
    const Exit exit = exit_for(*end.error);
    return exit == Exit::usage || exit == Exit::not_found ? Exit::failed : exit;
  }
  switch (end.report.stop) {
    case TurnStop::completed:
      return Exit::done;
    case TurnStop::refused:
      return Exit::failed;
    case TurnStop::needs_attention:
      return Exit::in_doubt;
    case TurnStop::interrupted:
      return exit_of_interruption(end, session);
    default:
      return Exit::resting;
  }
}

std::string next_command(CommandContext& context, const TurnOutcome& end, const Session& session) {
  const std::string id = context.short_id(session.id().text());
  if (!end.error && end.report.waiting) return command_for(context, *end.report.waiting, id);
  if (!end.in_doubt.empty())
    return settle_command(context, shown_call(context, end.in_doubt.front().call));
  if (is_over(session)) return context.command("fork " + id);
  if (!end.error && end.report.stop == TurnStop::completed) {
    return end.report.is_cut_short ? context.command(fmt::format("resume {} \"Go on.\"", id)) : "";
  }
  if (!end.error && end.report.stop == TurnStop::budget) {
    return context.command(fmt::format("resume {} --budget DOLLARS", id));
  }
  const bool needs_words = end.report.stop == TurnStop::incomplete_plan ||
                           end.report.stop == TurnStop::loop ||
                           end.report.stop == TurnStop::refused;
  if (!end.error && needs_words) return context.command(fmt::format("resume {} \"…\"", id));
  return context.command("resume " + id);
}

// It may have been stopped just now, or by whatever ended an earlier process: the log knows.
std::string doubt_of(const PlannedCall& left, const Session& session) {
  const OpenCall* const open = find_open_call(session.state(), left.call.position);
  return open != nullptr && open->doubt ? *open->doubt : "its outcome is unknown";
}

Json::Object end_document(CommandContext& context, const TurnOutcome& end, const Session& session) {
  const Tally& totals = session.state().totals;
  return {
      {"session", session.id().text()},
      {"stop", end.error ? "failed" : to_string(end.report.stop)},
      {"why", why_of(end)},
      {"code", end.error ? Json(to_string(end.error->code)) : Json(nullptr)},
      {"answer", end.report.answer},
      {"is_cut_short", end.report.is_cut_short},
      {"turns", totals.turns},
      {"steps", totals.steps},
      {"tokens_in", totals.tokens_in},
      {"tokens_out", totals.tokens_out},
      {"cost_micros", totals.cost_micros},
      {"is_cost_known", !has_unknown_cost(session.state())},
      {"unconfirmed_micros", session.state().budget.totals.unconfirmed},
      {"head", session.state().head},
      {"waiting", end.report.waiting ? waiting_json(session.id(), *end.report.waiting) : Json()},
      {"next", next_command(context, end, session)},
      {"exit", std::to_underlying(exit_of(end, session))}};
}

Piece headline(const TurnOutcome& end, const Session& session) {
  if (end.error) return {fmt::format("Failed: {}", end.error->message), Ink::red};
  const TurnReport& report = end.report;
  switch (report.stop) {
    case TurnStop::completed:
      return {fmt::format("Completed: {}.", totals_text(session.state())), Ink::green};
    case TurnStop::refused:
      return {fmt::format("The model will not answer: {}", report.why), Ink::red};
    case TurnStop::needs_attention:
      return {fmt::format("! {} is in doubt: {}", report.waiting ? report.waiting->tool : "a call",
                          report.why),
              Ink::yellow};
    default:
      return {fmt::format("Stopped ({}): {}", to_string(report.stop), why_of(end)), Ink::yellow};
  }
}

// With --quiet too, a failure is explained.
void tell_headline(CommandContext& context, const TurnOutcome& end, const Session& session) {
  const Piece piece = headline(end, session);
  const bool has_failed = end.error || end.report.stop == TurnStop::refused;
  if (has_failed && context.given().has("quiet")) {
    context.io().err << "perdure: " << visible(piece.text, Lines::many) << '\n';
  } else {
    context.talk().line({piece});
  }
}

// An answer is shown with its totals, and these say it.
void tell_unconfirmed(CommandContext& context, const TurnOutcome& end) {
  if (end.unconfirmed_micros == 0) return;
  if (!end.error && end.report.stop == TurnStop::completed) return;
  context.talk().line({{"Cost: ", Ink::dim},
                       {fmt::format("{} spent in this turn, up to {} more unconfirmed: an answer "
                                    "did not come whole. The budget counts both.",
                                    dollars(end.spent_micros), dollars(end.unconfirmed_micros))}});
}

void tell_what_is_asked(CommandContext& context, const TurnOutcome& end, const Session& session) {
  if (!waits_for_a_word(end)) return;
  const std::string words = asked_words(session.state(), end.report.waiting->call);
  if (!words.empty()) context.question().line({{"Asks: ", Ink::dim}, {words}});
}

}  // namespace

void write_event(CommandContext& context, std::string_view name, Json::Object members) {
  members.insert(members.begin(), {"event", Json(name)});
  context.output().begin_list("perdure.run_event/1");
  context.output().item(Json(std::move(members)));
  context.screen().flush();
}

std::unique_ptr<AgentObserver> watch_turn(CommandContext& context, Store& store,
                                          const Session& session) {
  if (context.given().has("jsonl")) {
    return std::make_unique<TurnEventWriter>(context, session.id());
  }
  if (context.given().has("json")) return std::make_unique<RetryPrinter>(context);
  return std::make_unique<TurnPrinter>(context, store, session);
}

bool waits_for_a_word(const TurnOutcome& end) {
  return !end.error && end.report.waiting && end.report.waiting->what == Waiting::For::approval;
}

std::string totals_text(const State& state) {
  const Tally& totals = state.totals;
  std::string text =
      fmt::format("{}, {}, {} tokens", counted(static_cast<std::uint64_t>(totals.turns), "turn"),
                  counted(static_cast<std::uint64_t>(totals.steps), "step"),
                  grouped(totals.tokens_in + totals.tokens_out));
  const bool is_known = !has_unknown_cost(state);
  if (totals.cost_micros > 0 || !is_known) text += ", " + cost_words(totals.cost_micros, is_known);
  return text + unconfirmed_words(state.budget.totals.unconfirmed);
}

void tell_stop(CommandContext& context, const TurnOutcome& end, const Session& session) {
  const bool has_answer = !end.error && end.report.stop == TurnStop::completed;
  if (has_answer && !context.is_terminal() && !end.report.answer.empty()) {
    context.screen().text(end.report.answer, Lines::prose);
  }
  context.screen().flush();
  tell_headline(context, end, session);
  tell_what_is_asked(context, end, session);
  if (!end.in_doubt.empty()) {
    context.talk().line({{"In doubt: ", Ink::dim},
                         {fmt::format("{}; {}.", names_of(end.in_doubt, waits),
                                      doubt_of(end.in_doubt.front(), session)),
                          Ink::yellow}});
  }
  tell_unconfirmed(context, end);
  if (end.report.is_cut_short) context.talk().line("The answer ran into its limit of tokens.");
  if (!end.report.scratchpad_problem.empty()) {
    context.talk().line("The notes' folder: " + end.report.scratchpad_problem);
  }
}

void tell_end(CommandContext& context, const TurnOutcome& end, const Session& session) {
  tell_stop(context, end, session);
  const std::string next = next_command(context, end, session);
  if (!next.empty()) context.advise_next(next);
}

Exit close_turn(CommandContext& context, const Session& session, const TurnOutcome& end,
                Json::Object rest) {
  if (context.output().is_json()) {
    Json::Object document = end_document(context, end, session);
    for (Json::Member& member : rest) document.push_back(std::move(member));
    if (context.given().has("jsonl")) {
      write_event(context, "end", {{"run", std::move(document)}});
    } else {
      context.output().document("perdure.run/1", std::move(document));
    }
  } else {
    tell_end(context, end, session);
  }
  return exit_of(end, session);
}

}  // namespace perdure::cli
