// Beginning, taking up, forking.
//
// A session is created by its first commit, so none is ever without what it began with. A child's is
// its parent's; what it says of the child is written into the child's own log when that is opened.

#include "perdure/runtime/runtime.hpp"

#include <algorithm>
#include <cstdint>
#include <expected>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <vector>

#include "core/api/guarded.hpp"
#include "core/api/own_process.hpp"
#include "dispatch/calls.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/read.hpp"
#include "runtime/api/records.hpp"
#include "runtime/api/session.hpp"
#include "runtime/api/state_details.hpp"
#include "runtime/api/worker.hpp"
#include "session/parts.hpp"
#include "store/api/lookup.hpp"
#include "writer/session_writer.hpp"

namespace perdure {
namespace {

// How long a change is waited for at most: what ends by itself writes none.
constexpr Duration look_again{200};

std::unexpected<Error> being_created(const SessionId& id) {
  return fail(ErrorCode::lease_held,
              fmt::format("session {} is being created by another thread of this process: try "
                          "again in a moment",
                          id.text()));
}

Result<Forked> foresee(Store& store, const SessionId& from, const State& state,
                       bool fresh_effects) {
  auto calls = dispatch::carried_calls(store, from, state, fresh_effects);
  if (!calls) return forward(calls);
  auto effects = effects_after(store, from, state.head);
  if (!effects) return forward(effects);
  return Forked{.position = state.head,
                .plan = std::make_shared<const ForkPlan>(ForkPlan{*std::move(calls)}),
                .effects_after = *std::move(effects)};
}

}  // namespace

struct Runtime::Parts {
  Store& store;
  const RuntimeOptions options;
  // Owned alone. A shared_ptr only hides its deleter, which deletes nothing in a forked child.
  std::shared_ptr<Worker> worker;

  [[nodiscard]] std::unique_ptr<SessionParts> parts_of(Worker::Grip grip,
                                                       std::optional<Holder> before);
  [[nodiscard]] Result<Session> hold(Worker::Grip grip, SessionSummary row);
  [[nodiscard]] Result<std::unique_ptr<SessionParts>> parts_of_new(const SessionId& id);
  [[nodiscard]] Result<void> begin_fork(const NewSession& fork, const ForkSpec& spec, State state,
                                        std::vector<CarriedCall>& calls);
  [[nodiscard]] Result<RecoveryReport> recover(Session& session);
};

Runtime::Runtime(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Runtime::~Runtime() = default;

Result<std::unique_ptr<Runtime>> Runtime::start(Store& store, const RuntimeOptions& options) {
  auto sources = std::make_unique<GuardedSources>(options.clock, options.ids);
  RuntimeOptions guarded = options;
  guarded.clock = &sources->clock;
  guarded.ids = &sources->ids;
  auto worker = Worker::enroll(store, *guarded.clock,
                               {.id = mint<WorkerTag>(*guarded.ids),
                                .host = options.host.empty() ? machine_name() : options.host,
                                .pid = options.pid == 0 ? ::getpid() : options.pid,
                                .lease_time = options.lease_time,
                                .renews_itself = options.renews_itself,
                                .sources = std::move(sources)});
  if (!worker) return forward(worker);
  // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): the constructor is private.
  return std::unique_ptr<Runtime>(
      new Runtime(std::make_unique<Parts>(store, guarded, of_own_process(*std::move(worker)))));
}

Result<void> Runtime::renew() { return parts_->worker->renew(); }

std::unique_ptr<SessionParts> Runtime::Parts::parts_of(Worker::Grip grip,
                                                       std::optional<Holder> before) {
  return std::make_unique<SessionParts>(
      SessionDeps{store, *worker, *options.clock, *options.ids, options.tools, options.policy},
      std::move(grip), std::move(before));
}

Result<Session> Runtime::Parts::hold(Worker::Grip grip, SessionSummary row) {
  auto parts = parts_of(std::move(grip), std::move(row.holder));
  SessionWriter& writer = parts->writer;
  if (auto loaded = writer.load(); !loaded) return forward(loaded);
  if (!writer.state().details->origin) {
    Draft draft = writer.draft();
    if (auto added = add_beginning(writer, row.parent, draft); !added) return forward(added);
    if (auto begun = writer.commit(std::move(draft)); !begun) return forward(begun);
  }
  if (row.parent && row.parent->lineage == Lineage::child) parts->parent = row.parent;
  return Session(std::move(parts));
}

Result<std::unique_ptr<SessionParts>> Runtime::Parts::parts_of_new(const SessionId& id) {
  auto place = worker->take_place(id);
  if (!place && place.error().code != ErrorCode::lease_held) return forward(place);
  if (!place) {
    return fail(ErrorCode::already_exists,
                fmt::format("session {} exists already: this process has it", id.text()),
                id.text());
  }
  return parts_of({.place = *std::move(place),
                   .lease = {.session = id, .worker = worker->id(), .fence = first_fence}},
                  std::nullopt);
}

Result<Session> Runtime::create(const SessionSpec& spec) {
  const SessionId id = spec.id ? *spec.id : mint<SessionTag>(*parts_->options.ids);
  Draft draft(1);
  Origin origin = root_origin(id, *parts_->options.ids);
  origin.agent_digest = spec.agent_digest;
  draft.add(replacing("origin", "origin", to_json(origin)));
  if (spec.setup) draft.add(replacing("setup", "setup", to_json(*spec.setup)));
  if (spec.budget_micros) {
    Budget budget;
    auto limit = add_budget_change(draft, budget,
                                   {.change = BudgetChange::limit, .micros = spec.budget_micros});
    if (!limit) return forward(limit);
  }
  auto made = parts_->parts_of_new(id);
  if (!made) return forward(made);
  auto parts = *std::move(made);
  if (spec.input) add_message(draft, parts->writer, *spec.input);
  auto begun = parts->writer.begin({.id = id, .annotation = spec.annotation}, std::move(draft));
  if (!begun) return forward(begun);
  return Session(std::move(parts));
}

Result<Session> Runtime::open(const SessionId& id, Duration wait, const std::stop_token& stop) {
  const Uptime deadline = parts_->options.clock->uptime() + wait;
  for (;;) {
    auto seen = parts_->store.change_number();
    if (!seen) return forward(seen);
    // Who held it is not known any more once it is ours.
    auto row = parts_->store.sessions().read(id);
    if (!row) return forward(row);
    if (auto noted = note_ended_worker(parts_->store, *row); !noted) return forward(noted);
    auto grip = parts_->worker->take(id);
    if (grip) return parts_->hold(*std::move(grip), *std::move(row));
    if (grip.error().code != ErrorCode::lease_held) return forward(grip);
    const Duration left = deadline - parts_->options.clock->uptime();
    const bool is_its_own = OnBehalf::is_of(id, grip.error().subject);
    if (left <= Duration(0) || is_its_own || stop.stop_requested()) return forward(grip);
    // An owner that dies writes nothing that could be waited for.
    auto waited = parts_->store.wait_for_change(*seen, std::min(left, look_again));
    if (!waited) return forward(waited);
  }
}

Result<Session> Runtime::open_or_create(const SessionId& id, SessionSpec spec, Duration wait) {
  spec.id = id;
  const Uptime deadline = parts_->options.clock->uptime() + wait;
  for (bool is_first = true;; is_first = false) {
    auto seen = parts_->store.change_number();
    if (!seen) return forward(seen);
    auto resumed =
        resume(id, {.wait = deadline - parts_->options.clock->uptime(), .runs_calls = false});
    if (resumed) return std::move(resumed->session);
    if (resumed.error().code != ErrorCode::not_found) return forward(resumed);
    auto created = create(spec);
    if (created || created.error().code != ErrorCode::already_exists) return created;
    // Another has created it since, and it can be opened; or another thread is about to, and it
    // cannot be found yet.
    if (is_first) continue;
    const Duration left = deadline - parts_->options.clock->uptime();
    if (left <= Duration(0)) return being_created(id);
    auto waited = parts_->store.wait_for_change(*seen, std::min(left, look_again));
    if (!waited) return forward(waited);
  }
}

const RecoveryPlan& plan_of(const RecoveryReport& report) {
  static const RecoveryPlan none;
  return report.plan ? *report.plan : none;
}

Result<std::optional<Origin>> origin_of(Store& store, const SessionId& id) {
  auto entries = store.log().read(id, {.channel = "origin"});
  if (!entries) return forward(entries);
  State state;
  for (const Entry& entry : *entries) fold(state, entry);
  return std::move(state.details->origin);
}

Result<bool> is_of(Store& store, const SessionId& id, std::string_view agent_digest) {
  auto value = store.log().find_value(id, "origin", Point::head());
  if (!value) return forward(value);
  if (!*value || (*value)->condition != Condition::intact) return false;
  const auto origin = origin_from_json((*value)->body.bytes());
  return origin && origin->agent_digest == agent_digest;
}

Result<void> Runtime::Parts::begin_fork(const NewSession& fork, const ForkSpec& spec, State state,
                                        std::vector<CarriedCall>& calls) {
  Draft draft(state.head + 1);
  std::optional<Origin> fresh;
  if (spec.fresh_effects) {
    fresh = root_origin(fork.id, *options.ids);
    if (state.details->origin) fresh->agent_digest = state.details->origin->agent_digest;
    draft.add(replacing("origin", "origin", to_json(*fresh)));
  }
  if (spec.system_prompt || spec.model) {
    Setup setup = state.setup.value_or(Setup{});
    if (spec.system_prompt) setup.system_prompt = *spec.system_prompt;
    if (spec.model) setup.model = *spec.model;
    draft.add(replacing("setup", "setup", to_json(setup)));
  }
  const auto parts = parts_of_new(fork.id);
  if (!parts) return std::unexpected(parts.error());
  SessionWriter& writer = (*parts)->writer;
  auto carried = dispatch::carry(writer, draft, state, calls, fresh ? &*fresh : nullptr);
  if (!carried) return carried;
  return writer.begin(fork, std::move(draft), std::move(state));
}

Result<Forked> Runtime::fork(const SessionId& from, Point at, const ForkSpec& spec) {
  auto state = dispatch::read_whole_step(parts_->store, from, at);
  if (!state) return forward(state);
  auto forked = foresee(parts_->store, from, *state, spec.fresh_effects);
  if (!forked) return forked;
  forked->id = spec.id ? *spec.id : mint<SessionTag>(*parts_->options.ids);
  // The parent may continue meanwhile.
  const NewSession made{
      .id = forked->id,
      .annotation = spec.annotation,
      .origin = NewSession::Origin{
          .session = from, .at = at_position(state->head), .lineage = Lineage::fork}};
  // Else the fork is only a row: there is nothing to write into its line.
  if (spec.fresh_effects || spec.system_prompt || spec.model || !calls_of(*forked).empty()) {
    ForkPlan plan = *forked->plan;
    auto begun = parts_->begin_fork(made, spec, *std::move(state), plan.calls);
    if (!begun) return forward(begun);
    forked->plan = std::make_shared<const ForkPlan>(std::move(plan));
  } else if (auto row = parts_->store.sessions().create(made); !row) {
    return forward(row);
  }
  return forked;
}

const std::vector<CarriedCall>& calls_of(const Forked& forked) {
  static const ForkPlan none;
  return (forked.plan ? *forked.plan : none).calls;
}

Result<Forked> foresee_fork(Store& store, const SessionId& from, Point at, bool fresh_effects) {
  auto state = dispatch::read_whole_step(store, from, at);
  if (!state) return forward(state);
  return foresee(store, from, *state, fresh_effects);
}

namespace {

// Whether it was made, and what it cost, may be unknown here: then it counts as spent.
Result<bool> give_up_request(SessionWriter& writer) {
  if (!writer.state().details->request) return false;
  Store& store = writer.deps().store;
  auto row = store.sessions().read(writer.lease().session);
  if (!row) return forward(row);
  auto is_lost = has_lost_a_response(store, *row, writer.state());
  if (!is_lost) return forward(is_lost);
  Draft draft = writer.draft();
  Budget budget = writer.state().budget;
  const Request& request = writer.state().details->request->request;
  const RequestEnd end{.why = !*is_lost          ? "it was not made"
                              : request.is_ahead ? "it is unknown whether it was made"
                                                 : "its response was lost",
                       .may_be_paid = *is_lost};
  if (auto added = add_end_of_request(draft, request, budget, end); !added) return forward(added);
  if (auto done = writer.commit(std::move(draft)); !done) return forward(done);
  return *is_lost;
}

// They are neither made nor asked about again in a session that has ended: what is not known of them
// a person may find out.
Result<void> put_begun_calls_in_doubt(SessionWriter& writer) {
  auto calls = dispatch::open_calls(writer);
  if (!calls) return forward(calls);
  Draft draft = writer.draft();
  dispatch::Records records(writer, draft);
  const std::string why = "its outcome was never recorded, and its session has ended";
  for (const dispatch::CallView& call : *calls) {
    if (call.row.state != CallState::dispatched) continue;
    if (call.is_read_only()) {
      records.settle(call, CallState::failed, {.content = why, .is_error = true}, {.why = why});
    } else {
      records.doubt(call, why);
    }
  }
  return writer.commit(std::move(draft));
}

}  // namespace

Result<bool> has_lost_a_response(Store& store, const SessionSummary& row, const State& state) {
  if (!state.details->request) return false;
  // What a fork has of its parent, only that one may have made.
  const bool is_parents = row.parent && row.parent->lineage == Lineage::fork &&
                          state.details->request->position <= row.parent->position;
  if (is_parents) return false;
  auto is_unsent = is_known_unsent(store, state.details->request->request);
  if (!is_unsent) return forward(is_unsent);
  return !*is_unsent;
}

Result<RecoveryReport> Runtime::Parts::recover(Session& session) {
  SessionWriter& writer = session_parts(session).writer;
  RecoveryReport report{.entries = writer.state().entries,
                        .steps = static_cast<std::uint64_t>(writer.state().totals.steps)};
  // What has ended starts nothing; what it had started is recorded all the same, and its parent may
  // not have heard of its end.
  if (auto told = tell_parent(session_parts(session)); !told) return forward(told);
  auto lost = give_up_request(writer);
  if (!lost) return forward(lost);
  report.lost_a_response = *lost;
  if (auto taken = session.take_inbox(); !taken) return forward(taken);
  if (auto asked = ask_children(session_parts(session)); !asked) return forward(asked);
  if (writer.has_ended()) {
    if (auto noted = put_begun_calls_in_doubt(writer); !noted) return forward(noted);
  }
  auto row = store.sessions().read(session.id());
  if (!row) return forward(row);
  auto plan = plan_recovery(
      store, *row, writer.state(),
      {.tools = &options.tools, .policy = options.policy, .now = options.clock->now()});
  // Only a report: a damaged ledger of a parent does not keep its fork from its resume.
  if (plan) report.plan = std::make_shared<const RecoveryPlan>(*std::move(plan));
  return report;
}

Result<Resumed> Runtime::resume(const SessionId& id, const ResumeSpec& spec) {
  const Uptime begin = parts_->options.clock->uptime();
  auto session = open(id, spec.wait, spec.stop);
  if (!session) return forward(session);
  const SessionWriter& writer = session_parts(*session).writer;
  // A policy that opens this session again does not wait for itself.
  const OnBehalf on_behalf(writer.lease());
  const bool had_ended = writer.has_ended();
  if (auto goes_on = writer.check_goes_on(); had_ended && spec.input) return forward(goes_on);
  if (spec.prepare) {
    if (auto ready = spec.prepare(*session); !ready) return forward(ready);
  }
  auto report = parts_->recover(*session);
  if (!report) return forward(report);
  // What lay in the inbox may have stopped it.
  if (spec.runs_calls && !had_ended && writer.check_goes_on()) {
    auto calls = session->run_calls(spec.stop);
    if (!calls) return forward(calls);
    report->calls = *std::move(calls);
  }
  if (spec.input) {
    if (auto said = session->append(*spec.input); !said) return forward(said);
  }
  report->took = parts_->options.clock->uptime() - begin;
  return Resumed{*std::move(session), *std::move(report)};
}

}  // namespace perdure
