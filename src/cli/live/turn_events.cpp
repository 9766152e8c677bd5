// Lines are written whole and at once: whoever reads them may act on each.

#include "live/turn_events.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "desk.hpp"
#include "live/turn_end.hpp"
#include "perdure/agent/turn.hpp"
#include "perdure/core/json.hpp"
#include "perdure/store/ledger.hpp"
#include "screen/output.hpp"

namespace perdure::cli {
namespace {

template <class... F>
struct EventCases : F... {
  using F::operator()...;
};

}  // namespace

void write_event(Desk& desk, std::string_view name, Json::Object members) {
  members.insert(members.begin(), {"event", Json(name)});
  desk.output().begin_list("perdure.run_event/1");
  desk.output().item(Json(std::move(members)));
  desk.screen().flush();
}

void TurnEvents::write(std::string_view name, Json::Object members) {
  if (const std::string rest = text_.rest(); !rest.empty()) {
    write_event(desk_, "text", {{"text", rest}});
  }
  write_event(desk_, name, std::move(members));
}

void TurnEvents::on_text(std::string_view piece) {
  const std::string whole = text_.take(piece);
  if (!whole.empty()) write_event(desk_, "text", {{"text", whole}});
}

void TurnEvents::on_retry(const RetryNotice& notice) {
  write("retry", {{"attempt", notice.attempt},
                  {"wait_ms", notice.wait.count()},
                  {"why", std::string(notice.why)}});
}

void TurnEvents::on_event(const AgentEvent& event) {
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

void TurnEvents::on_progress(const CallProgress& progress) {
  write("call_progress", {{"call", name_of(progress.call)},
                          {"tool", std::string(progress.tool)},
                          {"line", std::string(progress.line)}});
}

}  // namespace perdure::cli
