// Kinds: `message`, `approve`, `resolve`, `pause`, `cancel`, `child_result`. Bodies are JSON objects; one of another
// kind, or that makes no sense, is only moved to the log.

#include "perdure/runtime/mail.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/conversation.hpp"
#include "perdure/runtime/session.hpp"
#include "perdure/runtime/session_values.hpp"
#include "perdure/store/commit.hpp"
#include "perdure/store/inbox.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/records.hpp"
#include "runtime/api/status_entry.hpp"
#include "session/children.hpp"
#include "session/decide_calls.hpp"
#include "session/draft.hpp"
#include "session/ended_worker.hpp"
#include "session/held_session.hpp"
#include "session/parts.hpp"

namespace perdure {
namespace {

constexpr std::size_t mails_max = 100;  // In one commit.

std::string text_at(const Json& body, std::string_view key) {
  const Json* found = body.find(key);
  const std::string* text = found != nullptr ? found->as_string() : nullptr;
  return text != nullptr ? *text : std::string();
}

Position call_at(const Json& body) {
  const Json* found = body.find("call");
  const auto number = found != nullptr ? found->as_int64() : std::nullopt;
  return number && *number > 0 ? static_cast<Position>(*number) : 0;
}

// What a mail does besides being moved; nothing where it makes no sense or comes too late.
// Fails: as the ledger's readers.
Result<void> take(SessionParts& parts, Draft& draft, Accounts& accounts, const InboxMessage& mail) {
  if (mail.kind == "child_result") {
    if (const auto end = child_end_from_json(mail.body.bytes())) add_result(draft, accounts, *end);
    return {};
  }
  if (mail.kind == "message") {
    auto message = message_from_json(mail.body.bytes());
    if (!message) return {};
    if (message->id.empty()) message->id = mail.id.text();
    // A response ends a request, and a result a call: neither comes from outside.
    message->role = Role::user;
    std::erase_if(message->blocks, [](const Block& block) {
      return std::holds_alternative<ToolCallBlock>(block) ||
             std::holds_alternative<ToolResultBlock>(block);
    });
    draft.add(appending("transcript", "message", to_json(*message)));
    return {};
  }
  if (mail.kind == ended_worker_kind) {
    return add_ended_worker(parts.held, draft, mail.body.bytes());
  }
  const auto body = parse_json(mail.body.bytes());
  if (!body || !body->is_object()) return {};
  const std::string who = text_at(*body, "who");
  const std::string why = text_at(*body, "why");
  const StatusReason by_mail{.who = who.empty() ? "message " + mail.id.text() : who, .why = why};
  if (mail.kind == "approve") {
    const Json* allow = body->find("allow");
    const Json* overrules = body->find("overrules");
    const Word word{.allow = allow != nullptr && *allow == Json(true),
                    .who = who,
                    .why = why,
                    .overrules = overrules != nullptr && *overrules == Json(true)};
    [[maybe_unused]] const auto late = add_approval(parts, draft, call_at(*body), word);
  } else if (mail.kind == "resolve") {
    const auto as = decision_from(text_at(*body, "decision"));
    if (!as) return {};
    const Decision decision{.as = *as, .result = text_at(*body, "result"), .who = who, .why = why};
    [[maybe_unused]] const auto late = add_decision(parts, draft, call_at(*body), decision);
  } else if (mail.kind == "pause" && !parts.held.has_ended()) {
    draft.stand({.status = Status::paused, .wait_reason = why}, by_mail);
  } else if (mail.kind == "cancel" && !parts.held.has_ended()) {
    const StatusChange change{.status = Status::cancelled, .wait_reason = why};
    draft.stand(change, by_mail);
    auto cancelled = parts.dispatcher.cancel_unbegun(draft, of_cancelled_session);
    if (!cancelled) return forward(cancelled);
    if (!parts.parent) return {};
    [[maybe_unused]] const auto ended =
        add_end(parts, draft, accounts.budget, {.change = change, .result = why});
  }
  return {};
}

}  // namespace

Result<std::size_t> Session::take_inbox() {
  if (auto known = parts_->held.find_out(); !known) return forward(known);
  std::size_t taken = 0;
  for (;;) {
    auto mails = parts_->held.world().store.inbox().list(id(), mails_max);
    if (!mails) return forward(mails);
    if (mails->empty()) return taken;
    Draft draft = parts_->held.draft();
    Accounts accounts = accounts_of(parts_->held);
    for (const InboxMessage& mail : *mails) {
      draft.add({.channel = "inbox", .kind = mail.kind, .body = mail.body});
      if (auto done = take(*parts_, draft, accounts, mail); !done) return forward(done);
      draft.batch.consumed.push_back(mail.id);
      // What it does depends on the state: the next one must see what this one did.
      if (mail.kind != "message") break;
    }
    const std::size_t moved = draft.batch.consumed.size();
    if (auto receipt = parts_->held.commit(std::move(draft)); !receipt) return forward(receipt);
    taken += moved;
    if (auto told = tell_parent(*parts_); !told) return forward(told);
  }
}

bool stops_a_turn(const InboxMessage& mail) {
  return mail.kind == "pause" || mail.kind == "cancel";
}

Result<void> Mail::post(const MessageId& id, std::string_view kind, const Json& body) {
  return store_.inbox().post({.session = session_,
                              .id = id,
                              .kind = std::string(kind),
                              .body = Body::from_text(body.text())});
}

Result<void> Mail::say(const MessageId& id, const Message& message) {
  return store_.inbox().post({.session = session_,
                              .id = id,
                              .kind = "message",
                              .body = Body::from_text(to_json(message))});
}

Result<void> Mail::approve(const MessageId& id, Position call, bool allow, const std::string& who,
                           const std::string& why, bool overrules) {
  Json::Object body{
      {"call", static_cast<std::int64_t>(call)}, {"allow", allow}, {"who", who}, {"why", why}};
  if (overrules) body.push_back({"overrules", true});
  return post(id, "approve", std::move(body));
}

Result<void> Mail::resolve(const MessageId& id, Position call, const Decision& decision) {
  return post(id, "resolve",
              Json::Object{{"call", static_cast<std::int64_t>(call)},
                           {"decision", std::string(to_string(decision.as))},
                           {"result", decision.result},
                           {"who", decision.who},
                           {"why", decision.why}});
}

Result<void> Mail::child_result(const MessageId& id, const ChildEnd& end) {
  return store_.inbox().post({.session = session_,
                              .id = id,
                              .kind = "child_result",
                              .body = Body::from_text(to_json(end))});
}

Result<void> Mail::pause(const MessageId& id, const std::string& who, const std::string& why) {
  return post(id, "pause", Json::Object{{"who", who}, {"why", why}});
}

Result<void> Mail::cancel(const MessageId& id, const std::string& who, const std::string& why) {
  return post(id, "cancel", Json::Object{{"who", who}, {"why", why}});
}

}  // namespace perdure
