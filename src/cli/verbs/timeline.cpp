// Turns, steps and attempts, printed as they are read. On a terminal the line is read twice: once to
// know how long it is, for the waterfall. A long one has none: its first row would be late.

#include <algorithm>
#include <tuple>

#include "context/timeline_walk.hpp"
#include "runtime/api/read.hpp"
#include "runtime/api/records.hpp"
#include "verbs/table.hpp"

namespace perdure::cli {
namespace {

constexpr Position waterfall_entries_max = 5'000;

struct Layout {
  std::size_t what = 0;
  std::size_t bar = 0;  ///< 0: no waterfall.
  Duration total{0};
};

class TimelinePrinter {
 public:
  TimelinePrinter(CommandContext& context, Store& store, const PlaceInSession& place)
      : context_(context), store_(store), place_(place) {}

  Result<void> run() {
    turn_ = number_option(context_.given(), "turn", 0);
    if (auto laid = lay_out(); !laid) return laid;
    TimelineWalk walk;
    auto read =
        read_line(store_, place_.session.id, place_.point, [&](Entry& entry) -> Result<void> {
          if (entry.condition == Condition::damaged) damaged_.push_back(entry.position);
          if (const auto row = walk.take(entry)) print(*row);
          if (context_.screen().is_open()) return {};
          return fail(ErrorCode::closed, "stdout was closed");
        });
    if (!read && context_.screen().is_open()) return read;
    for (const TimelineRow& row : walk.open_rows()) print(row);
    if (!is_begun_) return show_nothing();
    context_.output().end_list();
    return {};
  }

  /// Where it could not be read.
  [[nodiscard]] const std::vector<Position>& damaged() const { return damaged_; }

 private:
  void begin() {
    if (std::exchange(is_begun_, true)) return;
    context_.output().begin_list("perdure.timeline/1");
    print_heading();
  }

  Result<void> show_nothing() {
    if (turn_ > last_turn_) {
      return fail(ErrorCode::not_found,
                  fmt::format("there is no turn {}: the last is turn {}", turn_, last_turn_));
    }
    context_.output().begin_list("perdure.timeline/1");
    context_.output().end_list();
    context_.advice().line(context_.given().has("problems") ? "Nothing went wrong."
                                                            : "Nothing was done.");
    return {};
  }

  Result<void> lay_out() {
    if (!context_.is_terminal() || context_.output().is_json()) return {};
    constexpr std::size_t fixed = 48;
    const std::size_t room =
        context_.screen().columns() > fixed ? context_.screen().columns() - fixed : 0;
    layout_.what = std::max<std::size_t>(12, std::min<std::size_t>(40, room * 3 / 5));
    if (room <= layout_.what + 10 || place_.session.head > waterfall_entries_max) return {};
    layout_.bar = room - layout_.what;
    TimelineWalk walk;
    auto read =
        read_line(store_, place_.session.id, place_.point, [&](Entry& entry) -> Result<void> {
          std::ignore = walk.take(entry);
          return {};
        });
    layout_.total = std::max(walk.busy_time(), Duration(1));
    return read;
  }

  [[nodiscard]] bool is_wanted(const TimelineRow& row) const {
    if (turn_ != 0 && row.number.turn != turn_) return false;
    return !context_.given().has("problems") || row.is_problem();
  }

  void print_heading() {
    const std::string state = fmt::format("{:<6} {:<7} ", "STEP", "KIND");
    const std::string rest = fmt::format("{:<11} {:>3} {:>7}", "STATE", "ATT", "TOOK");
    if (context_.is_terminal()) {
      const std::string room(layout_.what - 4, ' ');
      const std::string time =
          layout_.bar > 0 ? fmt::format("  0s … {}", exact_span(layout_.total)) : "";
      context_.screen().line({{fmt::format("{}WHAT{} {}{}", state, room, rest, time), Ink::bold}});
    } else {
      context_.screen().line(fmt::format("{}{} {:<24} WHAT", state, rest, "START"));
    }
  }

  // Empty: of a session that this one was forked from, or no call.
  [[nodiscard]] std::optional<Call> look_up(const TimelineRow& row) const {
    if (!row.call) return std::nullopt;
    auto call = store_.ledger().read(place_.session.id, *row.call);
    return call ? std::optional(*std::move(call)) : std::nullopt;
  }

  void print(const TimelineRow& row) {
    last_turn_ = std::max(last_turn_, row.number.turn);
    if (!is_wanted(row)) return;
    begin();
    const std::optional<Call> call = look_up(row);
    if (context_.output().is_json()) {
      context_.output().item(json_of(row, call));
      return;
    }
    const std::string attempts = row.attempts.empty() ? "" : std::to_string(row.attempts.size());
    std::string took = row.took ? exact_span(*row.took) : "";
    if (row.kind == "tool" && !row.took && !row.attempts.empty()) took = "?";
    std::string state = row.state;
    std::ranges::replace(state, '_', ' ');
    const Ink ink = row.is_problem() ? Ink::red : Ink::plain;
    std::string what = row.what;
    if (call) what += fmt::format(" ({})", to_string(call->effect));
    if (call && !call->who.empty()) what += fmt::format(", settled by {}", call->who);
    const std::string head = fmt::format("{:<6} {:<7} ", row.number_text(), row.kind);
    const std::string rest = fmt::format(" {:>3} {:>7}", attempts, took);
    if (context_.is_terminal()) {
      what = clipped(visible(what), layout_.what);
      const std::string room(layout_.what - width_of(what) + 1, ' ');
      context_.screen().line({{head},
                              {what},
                              {room},
                              {fmt::format("{:<11}", state), ink},
                              {rest},
                              {bar_of(row), ink}});
    } else {
      context_.screen().line({{head},
                              {fmt::format("{:<11}", state), ink},
                              {rest},
                              {fmt::format(" {:<24} {}", to_iso8601(row.start), what)}});
    }
    if (context_.given().has("attempts")) print_attempts(row);
  }

  void print_attempts(const TimelineRow& row) {
    for (const Attempted& attempt : row.attempts) {
      context_.screen().line(
          {{fmt::format("         attempt {} by {}", attempt.number, attempt.worker), Ink::dim}});
    }
  }

  [[nodiscard]] std::string bar_of(const TimelineRow& row) const {
    if (layout_.bar == 0) return {};
    const auto scaled = [&](Duration span) {
      return static_cast<std::size_t>(span.count() * static_cast<std::int64_t>(layout_.bar - 2) /
                                      layout_.total.count());
    };
    const std::size_t before = std::min(scaled(row.offset), layout_.bar - 3);
    std::string bar(before + 2, ' ');
    if (row.kind == "user") return bar + "|";
    const std::size_t length = row.took ? std::max<std::size_t>(1, scaled(*row.took)) : 1;
    for (std::size_t i = 0; i < std::min(length, layout_.bar - 2 - before); ++i) bar += "█";
    return row.took || row.attempts.empty() ? bar : bar + "?";
  }

  [[nodiscard]] Json json_of(const TimelineRow& row, const std::optional<Call>& call) const {
    Json attempts = json_list(row.attempts, [](const Attempted& attempt) {
      return Json::Object{{"number", attempt.number}, {"worker", attempt.worker}};
    });
    return Json::Object{
        {"number", row.number_text()},
        {"turn", row.number.turn},
        {"step", row.number.step},
        {"kind", row.kind},
        {"what", row.what},
        {"state", row.state},
        {"effect", call ? to_string(call->effect) : ""},
        {"who", call ? call->who : row.who},
        {"why", call ? call->why : row.why},
        {"call", row.call ? Json(call_name(place_.session.id, *row.call)) : Json(nullptr)},
        {"attempts", std::move(attempts)},
        {"start", to_iso8601(row.start)},
        {"took_ms", row.took ? Json(row.took->count()) : Json(nullptr)},
        {"totals", as_json(row.tally, row.is_cost_known)},
        {"position", row.position}};
  }

  CommandContext& context_;
  Store& store_;
  const PlaceInSession& place_;
  Layout layout_;
  std::int64_t turn_ = 0;  ///< The only one that is wanted; 0: all are.
  std::int64_t last_turn_ = 0;
  bool is_begun_ = false;
  std::vector<Position> damaged_;
};

Result<Exit> run_timeline(CommandContext& context, Store& store, const PlaceInSession& place) {
  TimelinePrinter printer(context, store, place);
  if (auto printed = printer.run(); !printed) return forward(printed);
  return end_with_damage(context, place.session.id, printer.damaged());
}

}  // namespace

Command timeline_command() {
  return {
      .name = "timeline",
      .summary = "Show turns, steps and attempts, and how long they took",
      .details =
          "On a terminal bars show when each step ran; time in which nothing was under way is "
          "left out. A bar that ends in ? has no outcome.",
      .arguments = {point_argument},
      .options =
          {{.name = "turn", .value = "N", .summary = "Only this turn", .takes = Takes::count},
           {.name = "problems", .summary = "Only what failed, is in doubt, was lost or damaged"},
           {.name = "attempts", .summary = "Every attempt of a call, and who made it"}},
      .examples = {{"perdure timeline @last --problems", "what went wrong"}},
      .schema = "perdure.timeline/1",
      .fields = {"number", "turn", "step", "kind", "what", "state", "effect", "who", "why", "call",
                 "attempts", "start", "took_ms", "totals", "position"},
      .body = on_point(run_timeline)};
}

}  // namespace perdure::cli
