// The order matters: a session that waits is made active before its mail is taken in. Killed between
// the two, it is active with mail, and whoever takes it up finds both. The other way round it
// would wait for what it already has.

#include "verbs/deliver.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <utility>

#include "desk.hpp"
#include "exit.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/id_source.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/mail.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/session.hpp"
#include "perdure/store/inbox.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "screen/text.hpp"
#include "verbs/standing.hpp"

namespace perdure::cli {
namespace {

// How the session stands once somebody has taken the letter in; empty while its owner has not.
using Taken = std::optional<Status>;

Result<Taken> take_in(Session session, bool wakes, const std::string& who) {
  if (wakes && session.status() == Status::waiting) {
    auto woken = session.set_status({.status = Status::active}, who, "what it waited for is said");
    if (!woken) return forward(woken);
  }
  if (auto taken = session.take_inbox(); !taken) return forward(taken);
  const Status status = session.status();
  if (auto closed = session.close(); !closed) return forward(closed);
  return status;
}

Result<bool> is_in_inbox(Store& store, const SessionId& session, const MessageId& id) {
  auto mails = store.inbox().list(session, limit_max);
  if (!mails) return forward(mails);
  return std::ranges::find(*mails, id, &InboxMessage::id) != mails->end();
}

Result<Taken> have_taken_in(Desk& desk, Store& store, const Letter& letter, const MessageId& id) {
  constexpr Duration looks_every{
      200};  // An owner that dies writes nothing that could be waited for.
  auto runtime = desk.worker();
  if (!runtime) return forward(runtime);
  const Uptime deadline = desk.world().clock->uptime() + letter.patience;
  for (;;) {
    auto seen = store.change_number();
    if (!seen) return forward(seen);
    auto session = (*runtime)->open(letter.session);
    if (session) return take_in(*std::move(session), letter.wakes, desk.world().user);
    if (session.error().code != ErrorCode::lease_held) return forward(session);
    if (letter.patience == Duration(0)) return std::nullopt;
    auto waits = is_in_inbox(store, letter.session, id);
    if (!waits) return forward(waits);
    if (!*waits) break;
    if (desk.world().clock->uptime() >= deadline) return std::nullopt;
    if (auto waited = store.wait_for_change(*seen, looks_every); !waited) return forward(waited);
  }
  auto row = store.sessions().read(letter.session);
  if (!row) return forward(row);
  return row->status;
}

}  // namespace

Result<void> check_goes_on(const Desk& desk, const SessionSummary& row) {
  if (!row.moved_to.empty()) {
    return fail(ErrorCode::conflict,
                fmt::format("{} was moved to {}: do it there, with --store {}", row.id.text(),
                            row.moved_to, shell_word(row.moved_to)),
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
  auto row = (*store)->sessions().read(letter.session);
  if (!row) return forward(row);
  Mail mail(**store, letter.session);
  const MessageId id = mint<MessageTag>(*desk.world().ids);
  if (auto posted = letter.post(mail, id); !posted) return forward(posted);
  auto stands = have_taken_in(desk, **store, letter, id);
  if (!stands) return forward(stands);
  const bool is_taken = stands->has_value();
  Result<std::optional<CallWord>> before = std::nullopt;
  if (letter.confirm) before = letter.confirm(is_taken ? std::optional(row->head) : std::nullopt);
  if (!before) return forward(before);
  desk.output().document("perdure.decision/1",
                         {{"session", letter.session.text()},
                          {"call", letter.about.empty() ? Json(nullptr) : Json(letter.about)},
                          {"decision", letter.decision},
                          {"who", desk.world().user},
                          {"reason", letter.reason},
                          {"taken", is_taken},
                          {"overrules", as_json(*before)}});
  if (desk.output().is_json()) return Exit::done;
  const std::string what = letter.about.empty() ? letter.session.text() : letter.about;
  desk.screen().line(
      fmt::format("{}: {}, by {}{}{}.", what, letter.decision, desk.world().user,
                  is_taken ? "" : " (left in its inbox)",
                  *before ? fmt::format("; before that it was {}", words_for(**before)) : ""));
  if (!is_taken) {
    desk.talk().line(fmt::format("Somebody is running it, and {}.", letter.heard));
  } else if (letter.next == "fork" || !has_ended(**stands)) {
    desk.talk().line("Next: " + desk.command(fmt::format("{} {}", letter.next,
                                                         desk.short_id(letter.session.text()))));
  }
  return Exit::done;
}

}  // namespace perdure::cli
