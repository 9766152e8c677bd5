// Kinds: `message`, `approve`, `resolve`, `pause`, `cancel`, `child_result`. Bodies are JSON objects; one of another
// kind, or that makes no sense, is only moved to the log.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "dispatch/calls.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/runtime/conversation.hpp"
#include "perdure/runtime/session.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/records.hpp"
#include "runtime/api/status_entry.hpp"
#include "session/parts.hpp"
#include "writer/draft.hpp"
#include "writer/session_writer.hpp"

namespace perdure {
namespace {

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

}  // namespace

Result<void> take_mail(SessionParts& parts, Draft& draft, Accounts& accounts,
                       const InboxMessage& mail) {
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
    return add_ended_worker(parts.writer, draft, mail.body.bytes());
  }
  const auto body = parse_json(mail.body.bytes());
  if (!body || !body->is_object()) return {};
  const std::string who = text_at(*body, "who");
  const std::string why = text_at(*body, "why");
  const StatusReason by_mail{.who = who.empty() ? "message " + mail.id.text() : who, .why = why};
  if (mail.kind == "approve") {
    const Json* allow = body->find("allow");
    const Json* overrules = body->find("overrules");
    const CallApproval word{.allow = allow != nullptr && *allow == Json(true),
                            .who = who,
                            .why = why,
                            .overrules = overrules != nullptr && *overrules == Json(true)};
    [[maybe_unused]] const auto late = add_approval(parts, draft, call_at(*body), word);
  } else if (mail.kind == "resolve") {
    const auto as = decision_from(text_at(*body, "decision"));
    if (!as) return {};
    const Decision decision{.as = *as, .result = text_at(*body, "result"), .who = who, .why = why};
    [[maybe_unused]] const auto late = add_decision(parts, draft, call_at(*body), decision);
  } else if (mail.kind == "pause" && !parts.writer.has_ended()) {
    draft.stand({.status = Status::paused, .wait_reason = why}, by_mail);
  } else if (mail.kind == "cancel" && !parts.writer.has_ended()) {
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

Result<void> note_ended_worker(Store& store, const SessionSummary& row) {
  if (!row.moved_to.empty() || !row.holder || !row.holder->gone) return {};
  auto calls = store.ledger().list(
      {.session = row.id, .states = {CallState::dispatched, CallState::in_doubt}, .limit = 1});
  if (!calls) return forward(calls);
  if (calls->empty()) return {};
  constexpr std::size_t digits = 32;
  const std::string& worker = row.holder->worker.text();
  auto id = MessageId::parse("ended-" + to_hex(sha256(worker)).substr(0, digits));
  if (!id) return forward(id);
  return store.inbox().post({.session = row.id,
                             .id = *std::move(id),
                             .kind = std::string(ended_worker_kind),
                             .body = Body::from_text(Json(worker).text())});
}

Result<void> add_ended_worker(SessionWriter& writer, Draft& draft, std::string_view note) {
  const auto worker = parse_json(note);
  if (!worker || !worker->is_string()) return {};
  auto calls = dispatch::open_calls(writer);
  if (!calls) return forward(calls);
  for (const dispatch::CallView& call : *calls) {
    const bool is_unresolved =
        call.row.state == CallState::dispatched || call.row.state == CallState::in_doubt;
    const bool is_theirs = call.open.worker == *worker->as_string();
    if (!is_unresolved || !is_theirs || call.open.ended_at || call.is_read_only()) continue;
    const std::string why = "the process that ran it has ended";
    dispatch::Records(writer, draft).doubt(call, call.open.doubt.value_or(why), true);
  }
  return {};
}

}  // namespace perdure
