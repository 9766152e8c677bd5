// What the parts of a session do for its methods: decisions of people about calls, children and endings,
// and mail.
//
// That a call took effect settles it; any other answer of verify is only evidence. A grant and the
// session it is for are one commit. An end is committed by the child before its parent learns of
// it, so that nothing is spent after what was not spent has gone back.

#include "session/parts.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "dispatch/calls.hpp"
#include "dispatch/decide.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/commit.hpp"
#include "runtime/api/fields.hpp"
#include "runtime/api/read.hpp"
#include "runtime/api/records.hpp"
#include "runtime/api/session.hpp"
#include "runtime/api/state_details.hpp"
#include "store/api/limits.hpp"
#include "store/api/lookup.hpp"
#include "writer/session_writer.hpp"

namespace perdure {

SessionParts& session_parts(Session& session) { return *session.parts_; }
namespace {

using dispatch::CallView;
using dispatch::Records;

constexpr std::array decisions = {
    std::pair{Decision::As::succeeded, std::string_view("succeeded")},
    std::pair{Decision::As::failed, std::string_view("failed")},
    std::pair{Decision::As::retry, std::string_view("retry")},
    std::pair{Decision::As::abandoned, std::string_view("abandoned")},
};

Result<void> post(Store& store, const SessionId& session, const MessageId& id,
                  std::string_view kind, std::string json) {
  return store.inbox().post({.session = session,
                             .id = id,
                             .kind = std::string(kind),
                             .body = Body::from_text(std::move(json))});
}

void write_end(Records& records, const CallView& view, const Decision& decision) {
  const Reason reason{.who = decision.who, .why = decision.why};
  switch (decision.as) {
    case Decision::As::succeeded:
      return records.settle(view, CallState::succeeded, {.content = decision.result}, reason);
    case Decision::As::failed:
      return records.settle(view, CallState::failed, {.content = decision.result, .is_error = true},
                            reason);
    case Decision::As::abandoned:
      return records.settle(
          view, CallState::abandoned,
          {.content = "This call was given up. It may have taken effect.", .is_error = true},
          reason);
    case Decision::As::retry:
      return;
  }
}

Result<CallView> find_open(SessionWriter& writer, Position call) {
  auto calls = dispatch::open_calls(writer);
  if (!calls) return forward(calls);
  for (CallView& view : *calls) {
    if (view.call() == call) return std::move(view);
  }
  return fail(ErrorCode::not_found,
              fmt::format("no call {} is open", call_name(writer.lease().session, call)));
}

Result<CallView> find_in_doubt(SessionParts& parts, Position call) {
  auto view = find_open(parts.writer, call);
  if (!view) return view;
  const bool is_unresolved =
      view->row.state == CallState::dispatched || view->row.state == CallState::in_doubt;
  if (is_unresolved && !parts.dispatcher.is_running(call)) return view;
  return fail(ErrorCode::conflict, fmt::format("call {} is not in doubt",
                                               call_name(parts.writer.lease().session, call)));
}

// A call that was never made, because a bundle claims that it was: to believe that is to give it the
// result and the key, as if it had been made here.
Result<void> add_decision_on_claim(SessionParts& parts, Draft& draft, const CallView& view,
                                   const Decision& decision) {
  Store& store = parts.writer.deps().store;
  const std::string name = call_name(view.row.session, view.call());
  if (decision.as == Decision::As::abandoned) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("call {} was never made, so there is nothing to give up: say succeeded "
                            "to believe the claim, retry to make the call, or failed",
                            name));
  }
  auto said = dispatch::find_claimed(store, view.row);
  if (!said) return forward(said);
  if (*said != view.open.doubt && decision.as == Decision::As::succeeded) {
    return fail(ErrorCode::conflict,
                fmt::format("what claims say of call {} has changed: look at it again", name));
  }
  auto holder = store.ledger().find_holder(*view.row.key);
  if (!holder) return forward(holder);
  if (*holder && decision.as == Decision::As::succeeded) {
    return fail(ErrorCode::conflict,
                fmt::format("the operation of call {} was done meanwhile, as {}", name,
                            call_name((*holder)->session, (*holder)->position)));
  }
  auto claimed = dispatch::claimed_result(store, view.row);
  if (!claimed) return forward(claimed);
  const Reason reason{.who = decision.who, .why = decision.why};
  Records records(parts.writer, draft);
  records.resolution(view, to_string(decision.as), reason);
  if (decision.as == Decision::As::failed) {
    records.settle(view, CallState::denied, {.content = decision.result, .is_error = true}, reason);
  }
  if (decision.as != Decision::As::succeeded) return {};
  dispatch::Told told{.content = decision.result};
  if (told.content.empty() && *claimed) told = **std::move(claimed);
  if (told.content.empty()) told.content = "This was done before; its result is not kept.";
  draft.batch.calls.emplace_back(Dispatch{.call = view.call()});
  records.settle(view, CallState::succeeded, told, reason);
  return {};
}

}  // namespace

std::string_view to_string(Decision::As as) { return values::word_of(decisions, as); }
std::optional<Decision::As> decision_from(std::string_view text) {
  return values::value_of(decisions, text);
}

Result<void> add_decision(SessionParts& parts, Draft& draft, Position call,
                          const Decision& decision) {
  auto open = find_open(parts.writer, call);
  if (!open) return forward(open);
  if (open->row.state == CallState::intended && open->open.doubt) {
    return add_decision_on_claim(parts, draft, *open, decision);
  }
  auto view = find_in_doubt(parts, call);
  if (!view) return forward(view);
  // A decision must not be overtaken by the call that it is about.
  auto left = parts.dispatcher.end_leftovers(*view);
  if (!left) return forward(left);
  Records records(parts.writer, draft);
  if (*left) records.evidence(*view, fmt::format("something of it may still run: {}", **left));
  records.resolution(*view, to_string(decision.as), {.who = decision.who, .why = decision.why});
  if (view->row.state == CallState::dispatched) {
    records.doubt(*view, "its outcome was never recorded");
  }
  write_end(records, *view, decision);
  return {};
}

Result<void> add_approval(SessionParts& parts, Draft& draft, Position call,
                          const CallApproval& word) {
  auto view = find_open(parts.writer, call);
  if (!view) return forward(view);
  if (view->row.state != CallState::intended) {
    return fail(ErrorCode::conflict, fmt::format("call {} was made already",
                                                 call_name(parts.writer.lease().session, call)));
  }
  const Approval* const before =
      parts.writer.state().details->approvals.find(call, view->open.args_digest);
  const bool is_denied = before != nullptr && before->decision == ApprovalDecision::refused;
  if (is_denied && word.allow && !word.overrules) {
    return fail(ErrorCode::conflict,
                fmt::format("call {} was denied by {}",
                            call_name(parts.writer.lease().session, call), before->who),
                "call_denied");
  }
  const Approval approval{
      .call = call,
      .args_digest = view->open.args_digest,
      .decision = word.allow ? ApprovalDecision::given : ApprovalDecision::refused,
      .who = word.who,
      .why = word.why,
      .at = parts.writer.deps().clock.now()};
  Approvals approvals = parts.writer.state().details->approvals;
  if (auto applied = approvals.apply(approval); !applied) return forward(applied);
  draft.add(entry_of(approval));
  return {};
}

namespace {

Result<void> check_can_be_asked(const CallView& view) {
  if (view.tool == nullptr) {
    return fail(ErrorCode::unsupported,
                fmt::format("the agent has no tool {} any more", view.open.tool));
  }
  if (!view.tool->verify) {
    return fail(ErrorCode::unsupported,
                fmt::format("{} has no way to tell whether a call took effect", view.open.tool));
  }
  if (!view.args) {
    return fail(ErrorCode::unsupported, "the arguments of the call cannot be read any more");
  }
  return {};
}

void note_answer(Records& records, const CallView& view, const std::string& said) {
  if (view.row.state == CallState::dispatched) {
    records.doubt(view, "its outcome was never recorded");
  }
  records.evidence(view, said);
}

void write_verdict(Records& records, const CallView& view, const Verdict& verdict) {
  if (const auto* landed = std::get_if<Landed>(&verdict)) {
    records.settle_landed(view, *landed);
  } else if (const auto* unknown = std::get_if<CannotTell>(&verdict)) {
    note_answer(records, view, fmt::format("verify cannot tell: {}", unknown->why));
  } else {
    note_answer(records, view, "verify: it did not take effect");
  }
}

}  // namespace

Result<Verdict> verify_call(Session& session, Position call) {
  SessionParts& parts = session_parts(session);
  if (auto known = parts.writer.settle_unknown_commit(); !known) return forward(known);
  auto view = find_in_doubt(parts, call);
  if (!view) return forward(view);
  if (auto can = check_can_be_asked(*view); !can) return forward(can);
  // What still runs of it could take effect after the answer.
  auto left = parts.dispatcher.end_leftovers(*view);
  if (!left) return forward(left);
  Result<Verdict> verdict =
      *left ? CannotTell{fmt::format("something of it may still run: {}", **left)}
            : parts.dispatcher.verify(*view);
  if (!verdict) return verdict;
  Draft draft = parts.writer.draft();
  Records records(parts.writer, draft);
  write_verdict(records, *view, *verdict);
  if (auto done = parts.writer.commit(std::move(draft)); !done) return forward(done);
  return verdict;
}

namespace {

// Of an entry whose row was zeroed, not even the channel is known.
bool has_lost_origin(const State& state) {
  return std::ranges::any_of(state.details->skipped, [](const Skipped& skipped) {
    return skipped.channel == "origin" ||
           (skipped.channel.empty() && skipped.reason == SkipReason::damaged);
  });
}

// It was granted once, so the limit is not asked: it may have been lowered since.
void add_unconfirmed(Budget& budget, Draft& draft, const std::string& child, std::int64_t micros) {
  for (const BudgetChange change : {BudgetChange::reserve, BudgetChange::unconfirmed}) {
    BudgetEntry entry{.change = change, .subject = child, .micros = micros};
    if (!apply(budget, entry)) return;
    entry.after = budget.totals;
    draft.add(entry_of(entry));
  }
}

bool is_missing(const Error& error) { return error.code == ErrorCode::not_found; }

// Unlike a body that is gone or damaged.
bool may_pass(const Error& error) {
  return !is_missing(error) && error.code != ErrorCode::corrupted;
}

// The parent's log no longer says what the child may spend: it may spend nothing.
Result<ChildSpawn> without_record(const SessionWriter& writer, const Parent& parent) {
  ChildSpawn spawn{
      .child = writer.lease().session.text(), .root = parent.session.text(), .limit_micros = 0};
  auto value = writer.deps().store.log().find_value(parent.session, "origin", Point::head());
  if (!value && !is_missing(value.error())) return forward(value);
  if (value && *value && (*value)->condition == Condition::intact) {
    if (const auto origin = origin_from_json((*value)->body.bytes())) {
      spawn.root = origin->root;
      spawn.nonce = origin->nonce;
    }
  }
  return spawn;
}

Result<std::string> text_of_body(const SessionWriter& writer, const Body& body) {
  const auto ref = body.blob();
  if (!ref) return body.bytes();
  return writer.deps().store.blobs().get(*ref);
}

Result<ChildSpawn> read_spawn(const SessionWriter& writer, const Parent& parent) {
  auto entries =
      writer.deps().store.log().read(parent.session, {.as_of = Point::position(parent.position),
                                                      .from = parent.position,
                                                      .to = parent.position,
                                                      .channel = "children"});
  if (!entries && !is_missing(entries.error())) return forward(entries);
  if (!entries || entries->empty()) return without_record(writer, parent);
  auto text = text_of_body(writer, entries->front().body);
  if (!text && may_pass(text.error())) return forward(text);
  if (!text) return without_record(writer, parent);
  auto spawn = child_spawn_from_json(*text);
  if (!spawn || spawn->child != writer.lease().session.text())
    return without_record(writer, parent);
  return spawn;
}

MessageId end_id(const ChildEnd& end) {
  constexpr std::size_t digits = 32;
  const std::string digest = to_hex(sha256(fmt::format("end {} of {}", end.number, end.child)));
  return MessageId::parse("msg_" + digest.substr(0, digits)).value();
}

Result<std::optional<ChildEnd>> read_end(Store& store, const SessionId& child) {
  auto row = store.sessions().read(child);
  if (!row && is_missing(row.error())) return std::nullopt;
  if (!row) return forward(row);
  if (!has_ended(row->status)) return std::nullopt;
  auto state = read_state(store, child, Point::head());
  if (!state) return forward(state);
  return std::move(state->details->end);
}

// What a child's end changes in its parent; nothing, if it was told before.
void add_result(Draft& draft, Accounts& accounts, const ChildEnd& end) {
  const auto child = accounts.children.find(end.child);
  if (child == accounts.children.end()) return;
  std::int64_t known = child->second.end ? child->second.end->spent_micros : 0;
  if (child->second.end && end.number <= child->second.end->number) return;
  Budget& budget = accounts.budget;
  const std::int64_t spent = end.spent_micros - (known == 0 ? end.unconfirmed_micros : 0);
  if (const auto grant = budget.grants.find(end.child); grant != budget.grants.end()) {
    known = std::max(known, grant->second);
    const std::int64_t rest = std::max<std::int64_t>(0, grant->second - spent);
    [[maybe_unused]] const auto returned = add_budget_change(
        draft, budget, {.change = BudgetChange::give_back, .subject = end.child, .micros = rest});
  }
  // What is unknown of the child's cost is unknown here too, counted once.
  const std::int64_t unsure = end.spent_micros - spent;
  if (unsure > 0) add_unconfirmed(budget, draft, end.child, unsure);
  if (spent > known) {
    [[maybe_unused]] const auto recorded =
        add_budget_change(draft, budget,
                          {.change = BudgetChange::spend,
                           .micros = spent - known,
                           .what = "beyond the grant of " + end.child});
  }
  draft.add(appending("children", "result", to_json(end)));
  child->second.end = end;
}

}  // namespace

Accounts accounts_of(const SessionWriter& writer) {
  return {.budget = writer.state().budget, .children = writer.state().details->children};
}

Result<void> check_all_settled(SessionWriter& writer) {
  auto open = dispatch::open_calls(writer);
  if (!open) return forward(open);
  if (open->empty()) return {};
  return fail(ErrorCode::conflict, "a call is unresolved: resolve it first",
              call_name(writer.lease().session, open->front().call()));
}

Result<void> add_beginning(const SessionWriter& writer, const std::optional<Parent>& parent,
                           Draft& draft) {
  if (!parent || parent->lineage != Lineage::child) {
    Origin origin = root_origin(writer.lease().session, writer.deps().ids);
    // What cannot be read any more must not be done once more under a nonce of its own.
    if (has_lost_origin(writer.state())) origin.nonce.clear();
    draft.add(replacing("origin", "origin", to_json(origin)));
    return {};
  }
  auto spawn = read_spawn(writer, *parent);
  if (!spawn) return forward(spawn);
  draft.add(replacing(
      "origin", "origin",
      to_json(Origin{
          .root = spawn->root, .nonce = spawn->nonce, .agent_digest = spawn->agent_digest})));
  if (spawn->setup) draft.add(replacing("setup", "setup", to_json(*spawn->setup)));
  if (!spawn->limit_micros) return {};
  Budget budget;
  return add_budget_change(draft, budget,
                           {.change = BudgetChange::limit, .micros = spawn->limit_micros});
}

Result<void> add_end(const SessionParts& parts, Draft& draft, Budget& budget,
                     const Ending& ending) {
  if (!draft.batch.status) {
    const std::string words = row_text(ending.result, title_bytes_max);
    draft.stand(ending.change, {.why = words.empty() ? "it has finished" : words});
  }
  const auto& before = parts.writer.state().details->end;
  const std::int64_t recorded = budget.totals.recorded();
  const ChildEnd end{.child = parts.writer.lease().session.text(),
                     .number = before ? before->number + 1 : 1,
                     .status = ending.change.status,
                     .spent_micros = recorded,
                     .unconfirmed_micros = budget.totals.unconfirmed + budget.totals.reserved,
                     .result = ending.result};
  draft.add(appending("children", "end", to_json(end)));
  if (!parts.parent || !budget.totals.limit) return {};
  return add_budget_change(
      draft, budget,
      {.change = BudgetChange::limit, .micros = recorded, .what = "the rest goes back"});
}

Result<void> tell_parent(const SessionParts& parts) {
  const auto& end = parts.writer.state().details->end;
  if (!parts.parent || !end || !parts.writer.has_ended()) return {};
  auto told = post(parts.writer.deps().store, parts.parent->session, end_id(*end), "child_result",
                   to_json(*end));
  if (!told && is_missing(told.error())) return {};
  return told;
}

Result<void> ask_children(SessionParts& parts) {
  Draft draft = parts.writer.draft();
  Accounts accounts = accounts_of(parts.writer);
  for (const auto& [id, child] : parts.writer.state().details->children) {
    if (child.end) continue;
    auto session = SessionId::parse(id);
    if (!session) continue;
    auto end = read_end(parts.writer.deps().store, *session);
    if (!end) return forward(end);
    if (*end) add_result(draft, accounts, **end);
  }
  return parts.writer.commit(std::move(draft));
}

namespace {

std::string text_at(const Json& body, std::string_view key) {
  return body.get<std::string>(key).value_or("");
}

Position call_at(const Json& body) { return body.get<Position>("call").value_or(0); }

Result<void> add_ended_worker(SessionWriter& writer, Draft& draft, std::string_view note) {
  const auto worker = parse_json(note);
  if (!worker || !worker->is_string()) return {};
  auto calls = dispatch::open_calls(writer);
  if (!calls) return forward(calls);
  for (const CallView& call : *calls) {
    const bool is_unresolved =
        call.row.state == CallState::dispatched || call.row.state == CallState::in_doubt;
    const bool is_theirs = call.open.worker == *worker->as_string();
    if (!is_unresolved || !is_theirs || call.open.ended_at || call.is_read_only()) continue;
    const std::string why = "the process that ran it has ended";
    Records(writer, draft).doubt(call, call.open.doubt.value_or(why), true);
  }
  return {};
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
  const Reason by_mail{.who = who.empty() ? "message " + mail.id.text() : who, .why = why};
  if (mail.kind == "approve") {
    const CallApproval word{.allow = body->get<bool>("allow").value_or(false),
                            .who = who,
                            .why = why,
                            .overrules = body->get<bool>("overrules").value_or(false)};
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

Result<void> Mail::say(const MessageId& id, const Message& message) {
  return post(store_, session_, id, "message", to_json(message));
}

Result<void> Mail::approve(const MessageId& id, Position call, bool allow, const std::string& who,
                           const std::string& why, bool overrules) {
  Json::Object body{
      {"call", static_cast<std::int64_t>(call)}, {"allow", allow}, {"who", who}, {"why", why}};
  if (overrules) body.push_back({"overrules", true});
  return post(store_, session_, id, "approve", Json(std::move(body)).text());
}

Result<void> Mail::resolve(const MessageId& id, Position call, const Decision& decision) {
  return post(store_, session_, id, "resolve",
              Json(Json::Object{{"call", static_cast<std::int64_t>(call)},
                                {"decision", std::string(to_string(decision.as))},
                                {"result", decision.result},
                                {"who", decision.who},
                                {"why", decision.why}})
                  .text());
}

Result<void> Mail::pause(const MessageId& id, const std::string& who, const std::string& why) {
  return post(store_, session_, id, "pause", Json(Json::Object{{"who", who}, {"why", why}}).text());
}

Result<void> Mail::cancel(const MessageId& id, const std::string& who, const std::string& why) {
  return post(store_, session_, id, "cancel",
              Json(Json::Object{{"who", who}, {"why", why}}).text());
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
  return post(store, row.id, *id, ended_worker_kind, Json(worker).text());
}

}  // namespace perdure
