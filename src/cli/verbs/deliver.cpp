// The order matters: a session that waits is made active before its mail is taken in. Killed between
// the two, it is active with mail, and whoever takes it up finds both. The other way round it
// would wait for what it already has.

#include "verbs/deliver.hpp"

#include <fmt/format.h>
#include <optional>
#include <string>

#include "desk.hpp"
#include "exit.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id_source.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/mail.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/session.hpp"
#include "perdure/store/sessions.hpp"
#include "screen/words.hpp"

namespace perdure::cli {
namespace {

// How the session stands then. Empty: somebody owns it, and will take the mail up.
Result<std::optional<Status>> take_in(Desk& desk, const Letter& letter) {
  auto runtime = desk.worker();
  if (!runtime) return forward(runtime);
  auto session = (*runtime)->open(letter.session);
  if (!session && session.error().code == ErrorCode::lease_held) return std::nullopt;
  if (!session) return forward(session);
  if (letter.wakes && session->status() == Status::waiting) {
    if (auto woken = session->set_status({.status = Status::active}); !woken) return forward(woken);
  }
  if (auto taken = session->take_inbox(); !taken) return forward(taken);
  const Status status = session->status();
  if (auto closed = session->close(); !closed) return forward(closed);
  return status;
}

}  // namespace

Result<void> check_goes_on(const Desk& desk, const SessionSummary& row) {
  if (!row.moved_to.empty()) {
    return fail(ErrorCode::conflict,
                fmt::format("{} was moved to {}: do it there", row.id.text(), row.moved_to),
                row.moved_to);
  }
  if (!has_ended(row.status)) return {};
  return fail(ErrorCode::conflict,
              fmt::format("{} has ended: it is {}. A fork of it can go on: {}", row.id.text(),
                          to_string(row.status), desk.command("fork " + row.id.text())));
}

Result<Exit> deliver(Desk& desk, const Letter& letter) {
  auto store = desk.open();
  if (!store) return forward(store);
  Mail mail(**store, letter.session);
  if (auto posted = letter.post(mail, mint<MessageTag>(*desk.world().ids)); !posted)
    return forward(posted);
  auto stands = take_in(desk, letter);
  if (!stands) return forward(stands);
  if (letter.check) {
    if (auto in_time = letter.check(); !in_time) return forward(in_time);
  }
  const bool is_taken = stands->has_value();
  desk.output().document("perdure.decision/1",
                         {{"session", letter.session.text()},
                          {"call", letter.about.empty() ? Json(nullptr) : Json(letter.about)},
                          {"decision", letter.decision},
                          {"who", desk.world().user},
                          {"reason", letter.reason},
                          {"taken", is_taken}});
  if (desk.output().is_json()) return Exit::done;
  const std::string what = letter.about.empty() ? letter.session.text() : letter.about;
  desk.screen().line(fmt::format("{}: {}, by {}{}.", what, letter.decision, desk.world().user,
                                 is_taken ? "" : " (left in its inbox)"));
  if (!is_taken) {
    desk.talk().line(fmt::format("Somebody is running it, and {}.", letter.heard));
  } else if (letter.wakes && !has_ended(**stands)) {
    desk.talk().line("Next: " + desk.command("resume " + desk.short_id(letter.session.text())));
  }
  return Exit::done;
}

}  // namespace perdure::cli
