// The log knows who was asked. A session's status does not: one that is paused, or came out of a backup
// or a bundle, waits for the same decisions as before.

#include "context/calls.hpp"

#include <algorithm>
#include <array>

#include "context/command_context.hpp"
#include "context/sessions.hpp"
#include "core/api/json_text.hpp"
#include "runtime/api/records.hpp"
#include "runtime/api/state_details.hpp"
#include "store/api/seam.hpp"

namespace perdure::cli {
namespace {

// Without a state, because it cannot be read, the session's status alone tells whether anybody was asked.
bool is_asked(const Call& call, const SessionSummary& session, const State* state) {
  const bool is_known = state != nullptr && state->details->open_calls.contains(call.position);
  if (!is_known) return session.status == Status::waiting;
  const OpenCall& open = state->details->open_calls.at(call.position);
  const Approval* word = state->details->approvals.find(open.call, open.args_digest);
  return word != nullptr && word->decision == ApprovalDecision::asked;
}

// What a call without an outcome waits for, whatever its session's status; empty: for its turn, or
// for what is under way.
std::optional<Need> need_of(const Call& call, const SessionSummary& session, const State* state) {
  if (!session.moved_to.empty()) return std::nullopt;
  if (call.state == CallState::in_doubt) return Need::decision;
  if (call.state == CallState::dispatched) {
    const bool has_owner = session.holder && session.holder->alive;
    return has_owner ? std::nullopt : std::optional(Need::resume);
  }
  if (has_ended(session.status)) return std::nullopt;
  // Not made here, because a bundle says that it was.
  const OpenCall* open = state != nullptr ? find_open_call(*state, call.position) : nullptr;
  if (open != nullptr && open->doubt) return Need::decision;
  if (!is_asked(call, session, state)) return std::nullopt;
  return asks_people(call.tool) ? Need::answer : Need::approval;
}

Result<Call> choose(const std::string& text, std::vector<PendingCall> pending,
                    const std::vector<Need>& needs) {
  const auto fits = [&](const PendingCall& each) {
    return std::ranges::find(needs, each.need) != needs.end();
  };
  if (std::ranges::any_of(pending, fits)) std::erase_if(pending, std::not_fn(fits));
  if (pending.size() == 1) return std::move(pending.front().call);
  std::string message = pending.empty() ? fmt::format("no call of {} is pending", text)
                                        : fmt::format("several calls of {} are pending:", text);
  for (const PendingCall& each : pending) {
    message +=
        fmt::format("\n  {}  {}, waits for {}", call_name(each.call.session, each.call.position),
                    each.call.tool, to_string(each.need));
  }
  return fail(ErrorCode::not_found, message);
}

// A decision about one of these may be taken back.
Result<std::vector<PendingCall>> read_unmade(Store& store, const SessionId& session) {
  auto calls = store.ledger().list({.session = session, .states = {CallState::intended}});
  if (!calls) return forward(calls);
  std::vector<PendingCall> unmade;
  for (Call& call : *calls) {
    const Need need = asks_people(call.tool) ? Need::answer : Need::approval;
    unmade.push_back({.call = std::move(call), .need = need});
  }
  return unmade;
}

PendingCall pending_of(const Call& call, Need need, const SessionSummary& session,
                       const State* state) {
  PendingCall pending{.call = call,
                      .need = need,
                      .title = session.title,
                      .opening = session.opening,
                      .why = call.why};
  const OpenCall* open = state != nullptr ? find_open_call(*state, call.position) : nullptr;
  if (open == nullptr) return pending;
  pending.args = args_of(*state, *open).value_or("");
  if (pending.why.empty()) pending.why = open->doubt.value_or("");
  return pending;
}

}  // namespace

std::string_view to_string(Need need) {
  static constexpr std::array<std::string_view, 4> names = {"decision", "resume", "approval",
                                                            "answer"};
  return names.at(std::to_underlying(need));
}

const OpenCall* find_open_call(const State& state, Position call) {
  const auto open = state.details->open_calls.find(call);
  return open == state.details->open_calls.end() ? nullptr : &open->second;
}

Result<std::vector<PendingCall>> read_pending(Store& store, const std::optional<SessionId>& only,
                                              std::optional<Error>* unread) {
  CallQuery query{.session = only,
                  .states = {CallState::intended, CallState::dispatched, CallState::in_doubt}};
  std::vector<PendingCall> pending;
  std::optional<SessionSummary> session;  // Of the last call.
  std::optional<State> state;             // Of that session; empty: it cannot be read.
  for (;;) {
    auto calls = store.ledger().list(query);
    if (!calls) return forward(calls);
    for (const Call& call : *calls) {
      if (!session || session->id != call.session) {
        auto row = store.sessions().read(call.session);
        if (!row) return forward(row);
        session = *std::move(row);
        auto read = read_state(store, call.session, {});
        if (!read && unread != nullptr && session->moved_to.empty()) *unread = read.error();
        state = read ? std::optional(*std::move(read)) : std::nullopt;
      }
      const State* known = state ? &*state : nullptr;
      const auto need = need_of(call, *session, known);
      if (need) pending.push_back(pending_of(call, *need, *session, known));
    }
    if (calls->size() < query.limit) return pending;
    query.after = CallId{calls->back().session, calls->back().position};
  }
}

Result<Call> find_call(Store& store, const std::string& text, const std::vector<Need>& needs) {
  const auto colon = text.rfind(':');
  const auto position =
      colon == std::string::npos ? std::nullopt : number_from(text.substr(colon + 1));
  auto session = find_session(store, position ? text.substr(0, colon) : text);
  if (!session) return forward(session);
  if (position) return store.ledger().read(session->id, static_cast<Position>(*position));
  auto pending = read_pending(store, session->id);
  if (!pending) return forward(pending);
  if (pending->empty() && std::ranges::find(needs, Need::approval) != needs.end()) {
    pending = read_unmade(store, session->id);
    if (!pending) return forward(pending);
  }
  return choose(text, *std::move(pending), needs);
}

RunVerb on_call(std::vector<Need> needs, CallVerb run) {
  return on_store([needs = std::move(needs), run = std::move(run)](CommandContext& context,
                                                                   Store& store) -> Result<Exit> {
    auto call = find_call(store, context.given().arguments.front(), needs);
    if (!call) return forward(call);
    return run(context, store, *call);
  });
}

std::string shown_call(const CommandContext& context, const Call& call) {
  return fmt::format("{}:{}", context.short_id(call.session.text()), call.position);
}

std::string settle_command(const CommandContext& context, std::string_view call) {
  return context.command(
      fmt::format("resolve {} --as succeeded|failed|retry|abandoned --reason \"…\"", call));
}

std::string allow_command(const CommandContext& context, std::string_view tool,
                          std::string_view call) {
  if (asks_people(tool)) return context.command(fmt::format("answer {} \"…\"", call));
  return fmt::format("{}, or {}", context.command(fmt::format("approve {}", call)),
                     context.command(fmt::format("deny {} --reason \"…\"", call)));
}

std::string asked_words(const State& state, Position call) {
  const OpenCall* const open = find_open_call(state, call);
  if (open == nullptr) return {};
  const std::string args(args_of(state, *open).value_or(""));
  if (!asks_people(open->tool)) return fmt::format("{} {}", open->tool, args);
  const auto parsed = parse_args(args);
  const std::string question = parsed ? text_in(*parsed, "question") : "";
  return question.empty() ? args : question;
}

bool asks_people(std::string_view tool) { return tool == "ask_user"; }

// A message that counts is followed by its record, in the same commit; only evidence may come between.
//
// The order of delivery matters: a session that waits is made active before its inbox is taken in. Killed
// between the two, it is active with an inbox, and the next process sees both. The other way round it
// would wait for what it already has.
namespace {

// Longer than another person's decision takes; an owner that runs the session takes it up later.
constexpr Duration decision_patience{3000};

struct Record {
  CallWord word{};
  Position position = 0;
  std::optional<Json> letter{};  ///< What made it; empty if no letter did.
  bool is_done = false;          ///< The call was made after it.
};

bool is_about_calls(const Entry& entry) {
  return entry.channel == "inbox" || entry.channel == "approvals" || entry.channel == "calls";
}

// Empty: about something else, damaged, erased or gone.
Result<std::string> text_about_calls(Store& store, Entry& entry) {
  if (!is_about_calls(entry)) return std::string();
  if (auto loaded = load_blob(store.blobs(), entry); !loaded) return forward(loaded);
  return entry.condition == Condition::intact ? entry.body.bytes() : std::string();
}

std::optional<CallWord> word_of(const Entry& entry, const std::string& text, const Call& call) {
  if (entry.channel == "calls" && entry.kind == "resolution") {
    const auto made = resolution_from_json(text);
    if (!made || made->call != call.position) return std::nullopt;
    return CallWord{made->decision, made->who, made->why};
  }
  const bool is_word =
      entry.channel == "approvals" && (entry.kind == "given" || entry.kind == "refused");
  if (!is_word) return std::nullopt;
  const auto made = approval_from_json(entry.kind, text);
  if (!made || made->call != call.position) return std::nullopt;
  const std::string_view yes = asks_people(call.tool) ? "answered" : "approved";
  const bool is_given = made->decision == ApprovalDecision::given;
  return CallWord{std::string(is_given ? yes : "denied"), made->who, made->why};
}

bool is_attempt(const Entry& entry, const std::string& text, const Call& call) {
  if (entry.channel != "calls" || entry.kind != "attempt") return false;
  const auto attempt = attempt_from_json(text);
  return attempt && attempt->call == call.position;
}

Result<std::vector<Record>> records_of(Store& store, const Call& call) {
  std::vector<Record> records;
  std::optional<Json> letter;
  LogQuery query{.from = call.position};
  for (;;) {
    auto page = store.log().read(call.session, query);
    if (!page) return forward(page);
    for (Entry& entry : *page) {
      auto text = text_about_calls(store, entry);
      if (!text) return forward(text);
      if (auto word = word_of(entry, *text, call)) {
        records.push_back(
            {*std::move(word), entry.position, std::exchange(letter, std::nullopt), false});
      } else if (entry.channel == "inbox") {
        auto body = parse_json(*text);
        letter = body ? std::optional(*std::move(body)) : std::nullopt;
      } else if (entry.kind != "evidence") {
        letter.reset();
      }
      if (!records.empty() && is_attempt(entry, *text, call)) records.back().is_done = true;
    }
    if (page->size() < query.limit) return records;
    query.from = page->back().position + 1;
  }
}

// Of a letter that waits: whether the call is allowed, and who says so.
std::optional<CallWord> word_in(const InboxMessage& mail, const Call& call) {
  if (mail.kind != "approve" || mail.body.blob()) return std::nullopt;
  const auto body = parse_json(mail.body.bytes());
  const Json* about = body ? body->find("call") : nullptr;
  if (about == nullptr || *about != Json(static_cast<std::int64_t>(call.position))) {
    return std::nullopt;
  }
  const Json* allow = body->find("allow");
  const bool is_given = allow != nullptr && *allow == Json(true);
  return CallWord{is_given ? "approved" : "denied", text_in(*body, "who"), text_in(*body, "why")};
}

// The same decision twice takes nothing back; an answer is its text.
std::optional<CallWord> overruled(const Record& before, const CallWord& word) {
  const bool is_same = before.word.decision == word.decision &&
                       (word.decision != "answered" || before.word.why == word.why);
  return before.is_done || is_same ? std::nullopt : std::optional(before.word);
}

std::string told(const CallWord& word) {
  const bool is_retry = word.decision == to_string(Decision::As::retry);
  return is_retry ? "to be made again" : word.decision;
}

std::string in_brackets(const CallWord& word) {
  return word.why.empty() ? "" : fmt::format(" ({})", word.why);
}

std::string what_stands(const Call& call, const std::vector<Record>& records) {
  const std::string name =
      fmt::format("{} ({})", call_name(call.session, call.position), call.tool);
  if (records.empty()) return fmt::format("{} is {} meanwhile", name, to_string(call.state));
  const CallWord& word = records.back().word;
  return fmt::format("{} is {} meanwhile, by {}{}", name, told(word), word.who, in_brackets(word));
}

// The session's status once the letter was taken in; empty while its owner has not.
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

Result<Taken> have_taken_in(CommandContext& context, Store& store, const Letter& letter,
                            const MessageId& id) {
  constexpr Duration looks_every{
      200};  // An owner that dies writes nothing that could be waited for.
  auto runtime = context.worker();
  if (!runtime) return forward(runtime);
  const Uptime deadline = context.io().clock->uptime() + decision_patience;
  for (;;) {
    auto seen = store.change_number();
    if (!seen) return forward(seen);
    auto session = (*runtime)->open(letter.session);
    if (session) return take_in(*std::move(session), letter.call.has_value(), context.io().user);
    if (session.error().code != ErrorCode::lease_held) return forward(session);
    if (!letter.call) return std::nullopt;
    auto waits = is_in_inbox(store, letter.session, id);
    if (!waits) return forward(waits);
    if (!*waits) break;
    if (context.io().clock->uptime() >= deadline) return std::nullopt;
    if (auto waited = store.wait_for_change(*seen, looks_every); !waited) return forward(waited);
  }
  auto row = store.sessions().read(letter.session);
  if (!row) return forward(row);
  return row->status;
}

// Bytes that are not UTF-8 do not come back as they were sent: what both are as JSON is compared.
bool has_members(const Json& body, const Json::Object& members) {
  return std::ranges::all_of(members, [&](const Json::Member& member) {
    const Json* found = body.find(member.first);
    return found != nullptr && found->text() == member.second.text();
  });
}

Result<std::optional<CallWord>> find_overruled(Store& store, const Letter& letter) {
  auto records = records_of(store, *letter.call);
  if (!records) return forward(records);
  return records->empty() ? std::nullopt : overruled(records->back(), letter.word);
}

// What our decision replaced, if the last decision about the call was made by a letter after
// `since` whose body is ours. Letters with the same body say the same: either is ours.
Result<std::optional<CallWord>> check_in_force(Store& store, const Letter& letter, Position since) {
  const Call& call = *letter.call;
  auto records = records_of(store, call);
  if (!records) return forward(records);
  if (!records->empty()) {
    const Record& last = records->back();
    if (last.position > since && last.letter && has_members(*last.letter, letter.members)) {
      return records->size() == 1 ? std::nullopt
                                  : overruled((*records)[records->size() - 2], last.word);
    }
  }
  auto now = store.ledger().read(call.session, call.position);
  if (!now) return forward(now);
  return fail(ErrorCode::conflict,
              what_stands(*now, *records) + ": that decision is in force, and yours has no effect",
              call_name(call.session, call.position));
}

std::string about(const Letter& letter) {
  return letter.call ? call_name(letter.session, letter.call->position) : letter.session.text();
}

Json::Object document_of(const Letter& letter, bool is_taken,
                         const std::optional<CallWord>& before) {
  const Json overruled =
      before ? Json(Json::Object{
                   {"decision", before->decision}, {"who", before->who}, {"reason", before->why}})
             : Json(nullptr);
  return {{"session", letter.session.text()},
          {"call", letter.call ? Json(about(letter)) : Json(nullptr)},
          {"decision", letter.word.decision},
          {"who", letter.word.who},
          {"reason", letter.word.why},
          {"taken", is_taken},
          {"overrules", overruled}};
}

Result<void> check_goes_on(const CommandContext& context, const SessionSummary& row) {
  if (!row.moved_to.empty()) {
    return fail(ErrorCode::conflict,
                fmt::format("{} was moved to {}: do it there, with --store {}", row.id.text(),
                            row.moved_to, shell_word(row.moved_to)),
                row.moved_to);
  }
  if (!has_ended(row.status)) return {};
  return fail(ErrorCode::conflict,
              fmt::format("{} has ended: it is {}. A fork of it can go on: {}", row.id.text(),
                          to_string(row.status), context.command("fork " + row.id.text())));
}

}  // namespace

std::string words_for(const CallWord& word) {
  return fmt::format("{} by {}{}", told(word), word.who, in_brackets(word));
}

Result<std::optional<CallWord>> find_denial(Store& store, const Call& call) {
  auto last = find_overruled(store, {.word = {.decision = "approved"}, .call = call});
  if (!last) return last;
  auto mails = store.inbox().list(call.session, limit_max);
  if (!mails) return forward(mails);
  for (const InboxMessage& mail : *mails) {
    if (auto word = word_in(mail, call)) *last = *std::move(word);
  }
  if (*last && (*last)->decision != "denied") last->reset();
  return last;
}

Result<Exit> deliver(CommandContext& context, Store& store, const Letter& letter) {
  auto row = store.sessions().read(letter.session);
  if (!row) return forward(row);
  Mail mail(store, letter.session);
  const MessageId id = mint<MessageTag>(*context.io().ids);
  if (auto posted = letter.post(mail, id); !posted) return forward(posted);
  auto stands = have_taken_in(context, store, letter, id);
  if (!stands) return forward(stands);
  const bool is_taken = stands->has_value();
  Result<std::optional<CallWord>> before = std::nullopt;
  if (letter.call) {
    before = is_taken ? check_in_force(store, letter, row->head) : find_overruled(store, letter);
  }
  if (!before) return forward(before);
  context.output().document("perdure.decision/1", document_of(letter, is_taken, *before));
  context.screen().line(
      fmt::format("{}: {}, by {}{}{}.", about(letter), letter.word.decision, letter.word.who,
                  is_taken ? "" : " (left in its inbox)",
                  *before ? fmt::format("; before that it was {}", words_for(**before)) : ""));
  if (!is_taken) {
    context.advice().line(fmt::format("Another process is running it, and {}.", letter.heard));
  } else if (letter.next == "fork" || !has_ended(**stands)) {
    context.advise_next(context.command(
        fmt::format("{} {}", letter.next, context.short_id(letter.session.text()))));
  }
  return Exit::done;
}

Result<Exit> deliver_dry(CommandContext& context, Store& store, const Letter& letter) {
  auto before = find_overruled(store, letter);
  if (!before) return forward(before);
  Json::Object document = document_of(letter, false, *before);
  document.emplace_back("dry_run", true);
  context.output().document("perdure.decision/1", std::move(document));
  context.screen().line(fmt::format(
      "Would settle {} ({}) as {}{}.", about(letter), letter.call->tool, letter.word.decision,
      *before ? fmt::format("; now it is {}", words_for(**before)) : ""));
  return Exit::done;
}

std::unexpected<Error> wrong_state(const Call& call, std::string_view wanted) {
  return fail(ErrorCode::conflict,
              fmt::format("{} ({}) is {}: {}", call_name(call.session, call.position), call.tool,
                          to_string(call.state), wanted));
}

Result<void> check_is_question(const CommandContext& context, const Call& call, bool is_wanted) {
  if (call.state != CallState::intended || asks_people(call.tool) == is_wanted) return {};
  return fail(
      ErrorCode::conflict,
      fmt::format("{} ({}) {}: {}", call_name(call.session, call.position), call.tool,
                  is_wanted ? "is not a question, it waits for approval"
                            : "is a question, and waits for an answer",
                  allow_command(context, call.tool, call_name(call.session, call.position))));
}

Result<Exit> deliver_permission(CommandContext& context, Store& store, const Call& call,
                                const Permission& permission) {
  const std::string name = call_name(call.session, call.position);
  if (call.state == CallState::in_doubt) {
    return wrong_state(call,
                       "it was made, and its outcome is unknown: " + settle_command(context, name));
  }
  if (call.state != CallState::intended) {
    return wrong_state(call, "only a call that was not made yet can be allowed or denied");
  }
  const std::string& who = context.io().user;
  const std::string& why = permission.why;
  return deliver(context, store,
                 {.session = call.session,
                  .word = {permission.decision, who, why},
                  .call = call,
                  .members = {{"allow", permission.allow}, {"who", who}, {"why", why}},
                  .heard = "takes this up at the next step, if the call is not made by then",
                  .post = [&](Mail& mail, const MessageId& id) {
                    return mail.approve(id, call.position, permission.allow, who, why,
                                        permission.overrules);
                  }});
}

RunVerb stops(std::string decision, PostStop post, std::string next) {
  return on_session([=](CommandContext& context, Store& store,
                        const SessionSummary& row) -> Result<Exit> {
    if (auto goes_on = check_goes_on(context, row); !goes_on) return forward(goes_on);
    const std::string& who = context.io().user;
    const std::string reason = context.given().find("reason").value_or("");
    return deliver(
        context, store,
        {.session = row.id,
         .word = {decision, who, reason},
         .next = next,
         .heard = "stops work in progress as soon as it sees this",
         .post = [&](Mail& mail, const MessageId& id) { return (mail.*post)(id, who, reason); }});
  });
}

}  // namespace perdure::cli
