// Each method is a draft and its commit. What a crash after a commit leaves is what the next process
// starts from.

#include "runtime/api/session.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "core/api/own_process.hpp"
#include "dispatch/calls.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/commit.hpp"
#include "runtime/api/read.hpp"
#include "runtime/api/records.hpp"
#include "runtime/api/state_details.hpp"
#include "session/parts.hpp"
#include "store/api/lookup.hpp"
#include "writer/session_writer.hpp"

namespace perdure {
namespace {

constexpr std::size_t mails_max = 100;  // In one commit.

Result<Position> commit_one(SessionWriter& writer, NewEntry entry) {
  return writer.write(
      [&](Draft& draft) -> Result<Position> { return draft.add(std::move(entry)); });
}

Result<void> check_is_users(const std::string& channel) {
  if (!is_reserved(channel)) return {};
  return fail(ErrorCode::invalid_argument,
              fmt::format("channel {} is the runtime's own: take another name", channel));
}

std::unexpected<Error> refuse_reopening(Status status) {
  return fail(ErrorCode::conflict,
              fmt::format("the session is {}: reopen it first", to_string(status)));
}

// Grants that are out and stay out: those of the point may come back there, and no other.
std::int64_t granted_after(const Budget& there, const Budget& now) {
  std::int64_t granted = now.totals.granted;
  for (const auto& [child, micros] : now.grants) {
    if (there.grants.contains(child)) granted -= micros;
  }
  for (const auto& [child, micros] : there.grants) granted += micros;
  return granted;
}

// What was spent on the line that is left stays spent, and what is not known of it unconfirmed.
std::optional<BudgetEntry> carried_over(const Budget& there, const Budget& now) {
  BudgetTotals after = there.totals;
  after.limit = now.totals.limit;
  after.spent = now.totals.spent;
  after.granted = granted_after(there, now);
  after.unconfirmed = now.totals.unconfirmed + now.totals.reserved;
  if (after == there.totals) return std::nullopt;
  return BudgetEntry{.change = BudgetChange::spend,
                     .micros = 0,
                     .what = "spent on a line that was left",
                     .after = after};
}

}  // namespace

Session::Session(std::unique_ptr<SessionParts> parts) : parts_(of_own_process(std::move(parts))) {}

const SessionId& Session::id() const { return parts_->writer.lease().session; }
const Lease& Session::lease() const { return parts_->writer.lease(); }
const State& Session::state() const { return parts_->writer.state(); }
Status Session::status() const { return parts_->writer.status(); }

Result<Position> Session::append(Message message) {
  return parts_->writer.write([&](Draft& draft) -> Result<Position> {
    return add_message(draft, parts_->writer, std::move(message));
  });
}

Result<Position> Session::append(const std::string& channel, Body body) {
  if (auto users = check_is_users(channel); !users) return forward(users);
  return commit_one(parts_->writer, {.channel = channel, .kind = "item", .body = std::move(body)});
}

Result<Position> Session::set(const std::string& channel, Body body,
                              const std::optional<StatusChange>& stands) {
  if (auto users = check_is_users(channel); !users) return forward(users);
  if (stands && has_ended(stands->status)) {
    return fail(ErrorCode::invalid_argument, "to end a session, set its status alone");
  }
  return parts_->writer.write([&](Draft& draft) -> Result<Position> {
    if (stands && parts_->writer.has_ended()) return refuse_reopening(status());
    if (stands) draft.stand(*stands);
    return draft.add(
        {.channel = channel, .kind = "value", .fold = Fold::replace, .body = std::move(body)});
  });
}

Result<Position> Session::set(const Setup& setup) {
  return commit_one(parts_->writer, replacing("setup", "setup", to_json(setup)));
}

Result<Position> Session::set(const Plan& plan) {
  return commit_one(parts_->writer, replacing("plan", "plan", to_json(plan)));
}

Result<void> set_agent(Session& session, const AgentChange& change, const Setup& setup) {
  return session_parts(session).writer.write([&](Draft& draft) -> Result<void> {
    draft.add(appending("origin", "agent", to_json(change)));
    // Whose it is now is in one entry, and is found without the log before it.
    Origin origin = session.state().details->origin.value_or(Origin{});
    origin.agent_digest = change.agent_digest;
    draft.add(replacing("origin", "origin", to_json(origin)));
    draft.add(replacing("setup", "setup", to_json(setup)));
    return {};
  });
}

Result<std::int64_t> Session::count(const std::string& counter, std::int64_t by) {
  return parts_->writer.write([&](Draft& draft) {
    Counters counters = state().counters;
    auto number = add(counters, counter, by);
    if (number) draft.add(replacing("counters", "counters", to_json(counters)));
    return number;
  });
}

Result<Version> Session::checkpoint(const NewCheckpoint& note) {
  auto written = parts_->writer.write([&](Draft& draft) -> Result<void> {
    draft.batch.checkpoint = note;
    return {};
  });
  if (!written) return forward(written);
  return parts_->writer.version();
}

Result<void> Session::set_status(const StatusChange& change, const std::string& who,
                                 const std::string& why) {
  auto written = parts_->writer.write([&](Draft& draft) -> Result<void> {
    const bool had_ended = parts_->writer.has_ended();
    if (had_ended && change.status != status()) return refuse_reopening(status());
    if (change.status == Status::completed || change.status == Status::failed) {
      if (auto settled = check_all_settled(parts_->writer); !settled) return settled;
    }
    draft.stand(change, {.who = who, .why = why});
    if (change.status == Status::cancelled) {
      auto cancelled = parts_->dispatcher.cancel_unbegun(draft, of_cancelled_session);
      if (!cancelled) return forward(cancelled);
    }
    if (!parts_->parent || !has_ended(change.status) || had_ended) return {};
    Budget budget = state().budget;
    return add_end(*parts_, draft, budget, {.change = change, .result = change.wait_reason});
  });
  if (!written) return written;
  return tell_parent(*parts_);
}

Result<void> Session::reopen(const std::string& who, const std::string& why) {
  return parts_->writer.write([&](Draft& draft) -> Result<void> {
    if (!parts_->writer.has_ended()) {
      return fail(ErrorCode::conflict, fmt::format("the session is {}: there is nothing to reopen",
                                                   to_string(status())));
    }
    draft.stand({.status = Status::active}, {.who = who, .why = why});
    return {};
  });
}

Result<void> Session::annotate(const Annotation& part) {
  auto row = parts_->writer.deps().store.sessions().annotate(id(), part);
  if (!row) return forward(row);
  return {};
}

Result<State> Session::state_at(Point point) const {
  return read_state(parts_->writer.deps().store, id(), point);
}

Result<std::vector<Checkpoint>> Session::versions(const CheckpointQuery& query) const {
  return parts_->writer.deps().store.log().checkpoints(id(), query);
}

Result<Difference> Session::diff(Point from, Point to) const {
  auto before = state_at(from);
  if (!before) return forward(before);
  auto after = state_at(to);
  if (!after) return forward(after);
  return perdure::diff(*before, *after);
}

// In a child the threads of attempts are not there to be waited for.
Result<void> Session::close(std::optional<Duration> patience) {
  if (auto here = check_own_process(parts_); !here) return here;
  if (!parts_->dispatcher.end(patience)) {
    const auto running = parts_->dispatcher.running();
    return fail(ErrorCode::unavailable,
                running.empty()
                    ? "a verify did not stop: the session stays held; close it again later"
                    : fmt::format("{} not stop: the session stays held; close it again later",
                                  running.size() == 1
                                      ? fmt::format("call {} did", running.front())
                                      : fmt::format("calls {} did", fmt::join(running, ", "))));
  }
  return parts_->writer.release();
}

Result<void> Session::rewind(Point point) {
  SessionWriter& writer = parts_->writer;
  return writer.write([&](Draft& draft) -> Result<void> {
    if (auto settled = check_all_settled(writer); !settled) return settled;
    auto there = dispatch::read_whole_step(writer.deps().store, id(), point, true);
    if (!there) return forward(there);
    draft.batch.branch_from = there->head == 0 ? point : Point::position(there->head);
    // What it came to is on the line that is left, and so is what it cost.
    if (there->details->request) {
      auto ended = add_end_of_request(draft, there->details->request->request, there->budget,
                                      {.why = "the session went back"});
      if (!ended) return ended;
    }
    if (const auto kept = carried_over(there->budget, state().budget)) {
      draft.add(entry_of(*kept));
    }
    // Going back changes what was said, not the session's status.
    if (writer.status_in(*there) != status()) {
      draft.add(
          status_entry({.status = status(),
                        .who = lease().worker.text(),
                        .why = fmt::format("as before the session went back to {}", there->head)}));
    }
    return dispatch::carry_back(writer, draft, *there);
  });
}

namespace {

NewRequest new_request(const RequestSpec& spec, Request request) {
  request.model = spec.model;
  request.digest = spec.digest;
  return {.request = std::move(request), .reserve_micros = spec.reserve_micros};
}

bool ends_turn(const Message& response, const ResponseExtras& extras) {
  if (response.is_partial) return extras.rests.has_value();
  return dispatch::count_calls(response) == 0 && !extras.goes_on;
}

// The open request, if this process wrote it ahead and it was not sent yet.
const Request* written_ahead(const SessionWriter& writer) {
  const auto& open = writer.state().details->request;
  const bool is_ours = open && open->request.is_ahead && writer.has_written(open->position);
  return is_ours ? &open->request : nullptr;
}

void end_turn(Draft& draft, const SessionWriter& writer) {
  if (writer.is_checkpoint_due()) {
    draft.batch.checkpoint = NewCheckpoint{.reason = "turn"};
  } else {
    draft.batch.sync = Sync::later;
  }
}

// The commit of a response, while it is put together.
struct Response {
  Draft draft;
  Position position = 0;
  Budget budget{};
  std::vector<dispatch::CallView> begun{};  ///< Calls that it dispatches.
};

// The unknown part of a cost stays with the reservation.
Result<void> add_cost(Response& made, const Request& request, const Usage& usage) {
  BudgetEntry spend{
      .change = BudgetChange::spend, .subject = request.reservation, .micros = usage.cost_micros};
  const auto open = made.budget.reservations.find(request.reservation);
  if (usage.unconfirmed_micros > 0 && open != made.budget.reservations.end()) {
    auto left = add_budget_change(made.draft, made.budget,
                                  {.change = BudgetChange::unconfirmed,
                                   .subject = request.reservation,
                                   .micros = usage.unconfirmed_micros});
    if (!left) return left;
    spend.subject.clear();
  }
  if (spend.subject.empty() && usage.cost_micros == 0) return {};
  return add_budget_change(made.draft, made.budget, std::move(spend));
}

// The response and what it cost.
Result<Response> begin_response(const SessionWriter& writer, const Message& response,
                                const Usage& usage, bool ends) {
  Response made{.draft = writer.draft(), .budget = writer.state().budget};
  NewEntry entry = appending("transcript", "message", to_json(response));
  entry.tally = {.turns = ends ? 1 : 0,
                 .steps = 1,
                 .tokens_in = usage.tokens_in,
                 .tokens_out = usage.tokens_out,
                 .cost_micros = usage.cost_micros};
  made.position = made.draft.add(std::move(entry));
  if (auto added = add_cost(made, writer.state().details->request->request, usage); !added) {
    return forward(added);
  }
  return made;
}

Result<Response> build_response(SessionParts& parts, const Message& response, const Usage& usage,
                                const ResponseExtras& extras, bool with_dispatch) {
  const bool ends = ends_turn(response, extras);
  auto made = begin_response(parts.writer, response, usage, ends);
  if (!made) return made;
  if (extras.plan) made->draft.add(replacing("plan", "plan", to_json(*extras.plan)));
  if (ends) {
    end_turn(made->draft, parts.writer);
    // What others decided meanwhile stays.
    if (extras.rests && parts.writer.check_goes_on()) made->draft.stand(*extras.rests);
  }
  // What has ended begins nothing: of its calls the response tells, and no intent.
  if (ends || response.is_partial || parts.writer.has_ended()) return made;
  const auto calls = dispatch::intend(parts.writer, made->draft, made->position, response);
  if (with_dispatch) {
    auto begun = parts.dispatcher.dispatch_first(made->draft, calls);
    if (!begun) return forward(begun);
    made->begun = *std::move(begun);
  }
  // Where the policy threw the turn ends with an error, and no request follows.
  const bool goes_on = std::ranges::none_of(calls, &dispatch::CallView::is_put_off);
  if (extras.next_request && goes_on) {
    Request ahead{.is_ahead = true, .loss_token = parts.writer.loss_token()};
    made->draft.next_request = new_request(*extras.next_request, std::move(ahead));
    parts.dispatcher.place_next_request(made->draft, calls);
  }
  return made;
}

}  // namespace

Result<void> Session::record_request(const RequestSpec& request, std::optional<Message> input) {
  SessionWriter& writer = parts_->writer;
  return writer.write([&](Draft& draft) -> Result<void> {
    if (auto goes_on = writer.check_goes_on(); !goes_on) return goes_on;
    auto unanswered =
        dispatch::has_unanswered(writer.deps().store, writer.lease().session, writer.state());
    if (!unanswered) return forward(unanswered);
    if (*unanswered) {
      return fail(ErrorCode::conflict, "a call has no outcome yet: run the calls first");
    }
    const Request* const ahead = written_ahead(writer);
    if (writer.state().details->request && ahead == nullptr) {
      return fail(ErrorCode::conflict, "a request is open: record its response first");
    }
    Budget budget = writer.state().budget;
    // What is on disk covers it: that it is sent, and for how much less, need not be there before.
    const bool is_covered = ahead != nullptr && !input &&
                            reserved_by(budget, ahead->reservation) >= request.reserve_micros;
    if (is_covered) draft.batch.sync = Sync::later;
    if (input) add_message(draft, writer, *std::move(input));
    Request sent;
    if (ahead != nullptr) sent.reservation = ahead->reservation;
    return add_request(draft, writer.deps().ids, budget, new_request(request, sent));
  });
}

Result<Position> Session::record_response(Message response, const Usage& usage,
                                          const ResponseExtras& extras) {
  SessionWriter& writer = parts_->writer;
  const OnBehalf on_behalf(writer.lease());
  if (auto known = writer.settle_unknown_commit(); !known) return forward(known);
  if (!writer.state().details->request) {
    return fail(ErrorCode::conflict, "no request is open: record one first");
  }
  if (extras.rests && has_ended(extras.rests->status)) {
    return fail(ErrorCode::invalid_argument, "a response does not end a session: finish it");
  }
  complete(response, writer);
  response.role = Role::assistant;
  // What was to follow an earlier response did, or never will.
  parts_->dispatcher.drop_next_request();
  // What was paid for is recorded in any case.
  for (const bool with_dispatch : {writer.check_goes_on().has_value(), false}) {
    auto made = build_response(*parts_, response, usage, extras, with_dispatch);
    if (!made && with_dispatch) continue;
    if (!made) return forward(made);
    auto done = writer.commit(std::move(made->draft));
    // Whatever keeps a call from beginning with it is found out when the calls are run; mostly
    // another one has its key.
    const bool is_refused = !done && done.error().code == ErrorCode::conflict;
    if (is_refused && !made->begun.empty()) continue;
    if (!done) return forward(done);
    parts_->dispatcher.began(std::move(made->begun));
    return made->position;
  }
  return fail(ErrorCode::conflict, "the response could not be committed");
}

Result<void> Session::abandon_request(const std::string& why, bool may_be_paid) {
  SessionWriter& writer = parts_->writer;
  return writer.write([&](Draft& draft) -> Result<void> {
    if (!writer.state().details->request) return fail(ErrorCode::conflict, "no request is open");
    parts_->dispatcher.drop_next_request();
    Budget budget = writer.state().budget;
    const Request& request = writer.state().details->request->request;
    Result<bool> is_unsent = !may_be_paid || written_ahead(writer) != nullptr;
    if (!*is_unsent) is_unsent = is_known_unsent(writer.deps().store, request);
    if (!is_unsent) return forward(is_unsent);
    return add_end_of_request(draft, request, budget, {.why = why, .may_be_paid = !*is_unsent});
  });
}

Result<CallsReport> Session::run_calls(const std::stop_token& stop) {
  if (auto known = parts_->writer.settle_unknown_commit(); !known) return forward(known);
  if (auto goes_on = parts_->writer.check_goes_on(); !goes_on) return forward(goes_on);
  const OnBehalf on_behalf(parts_->writer.lease());
  return parts_->dispatcher.run(stop);
}

Result<void> Session::resolve(Position call, const Decision& decision) {
  return parts_->writer.write(
      [&](Draft& draft) { return add_decision(*parts_, draft, call, decision); });
}

Result<std::size_t> Session::cancel_calls(const std::string& why, std::optional<Message> input) {
  return parts_->writer.write([&](Draft& draft) {
    auto cancelled = parts_->dispatcher.cancel_unbegun(draft, why);
    if (cancelled && *cancelled > 0 && input) add_message(draft, parts_->writer, *std::move(input));
    return cancelled;
  });
}

Result<void> Session::set_budget(std::optional<std::int64_t> micros, const std::string& who,
                                 const std::string& why) {
  return parts_->writer.write([&](Draft& draft) {
    Budget budget = state().budget;
    return add_budget_change(
        draft, budget,
        {.change = BudgetChange::limit, .micros = micros, .what = fmt::format("{}: {}", who, why)});
  });
}

Result<void> Session::approve(Position call, bool allow, const std::string& who,
                              const std::string& why) {
  return parts_->writer.write([&](Draft& draft) {
    return add_approval(*parts_, draft, call,
                        {.allow = allow, .who = who, .why = why, .overrules = true});
  });
}

Result<SessionId> spawn(Session& session, const ChildSpec& spec) {
  SessionWriter& writer = session_parts(session).writer;
  const State& state = session.state();
  SessionId child = spec.id ? *spec.id : mint<SessionTag>(writer.deps().ids);
  auto written = writer.write([&](Draft& draft) -> Result<void> {
    if (state.details->children.contains(child.text())) return {};
    if (auto goes_on = writer.check_goes_on(); !goes_on) return goes_on;
    Budget budget = state.budget;
    ChildSpawn record{
        .child = child.text(),
        .root = state.details->origin ? state.details->origin->root : session.id().text(),
        .nonce = state.details->origin ? state.details->origin->nonce : "",
        .agent_digest = spec.agent_digest,
        .limit_micros = spec.grant_micros,
        .setup = spec.setup};
    if (!spec.grant_micros && budget.totals.limit) record.limit_micros = 0;
    if (spec.grant_micros) {
      auto granted = add_budget_change(
          draft, budget,
          {.change = BudgetChange::grant, .subject = child.text(), .micros = spec.grant_micros});
      if (!granted) return granted;
    }
    // Last: the child's row names its position.
    draft.add(appending("children", "spawn", to_json(record)));
    draft.batch.children.push_back(
        {.id = child,
         .annotation = spec.annotation,
         .origin = NewSession::Origin{
             .session = session.id(), .at = Point::head(), .lineage = Lineage::child}});
    return {};
  });
  if (!written) return forward(written);
  return child;
}

Result<void> Session::finish(const std::string& result, Status as) {
  if (!has_ended(as)) {
    return fail(ErrorCode::invalid_argument, fmt::format("{} is no end", to_string(as)));
  }
  auto written = parts_->writer.write([&](Draft& draft) -> Result<void> {
    const bool had_ended = parts_->writer.has_ended();
    if (had_ended && as != status()) return refuse_reopening(status());
    if (had_ended && state().details->end) return {};
    if (auto settled = check_all_settled(parts_->writer); !settled) return settled;
    Budget budget = state().budget;
    return add_end(*parts_, draft, budget, {.change = {.status = as}, .result = result});
  });
  if (!written) return written;
  return tell_parent(*parts_);
}

Result<std::size_t> Session::take_inbox() {
  if (auto known = parts_->writer.settle_unknown_commit(); !known) return forward(known);
  std::size_t taken = 0;
  for (;;) {
    auto mails = parts_->writer.deps().store.inbox().list(id(), mails_max);
    if (!mails) return forward(mails);
    if (mails->empty()) return taken;
    Draft draft = parts_->writer.draft();
    Accounts accounts = accounts_of(parts_->writer);
    for (const InboxMessage& mail : *mails) {
      draft.add({.channel = "inbox", .kind = mail.kind, .body = mail.body});
      if (auto done = take_mail(*parts_, draft, accounts, mail); !done) return forward(done);
      draft.batch.consumed.push_back(mail.id);
      // What it does depends on the state: the next one must see what this one did.
      if (mail.kind != "message") break;
    }
    const std::size_t moved = draft.batch.consumed.size();
    if (auto done = parts_->writer.commit(std::move(draft)); !done) return forward(done);
    taken += moved;
    if (auto told = tell_parent(*parts_); !told) return forward(told);
  }
}

}  // namespace perdure
