// Beginning, taking up, forking.
//
// A session is created and then committed to. A process that dies in between leaves an
// empty session, which opens like any other; created again, it gets its setup and its limit.

#include "perdure/runtime/runtime.hpp"

#include <algorithm>
#include <array>
#include <expected>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/id_source.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/budget.hpp"
#include "perdure/runtime/origin.hpp"
#include "perdure/runtime/read.hpp"
#include "perdure/runtime/session.hpp"
#include "perdure/runtime/setup.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/ownership.hpp"
#include "perdure/store/point.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "session/children.hpp"
#include "session/draft.hpp"
#include "session/ended_worker.hpp"
#include "session/held_session.hpp"
#include "session/name_holder.hpp"
#include "session/parts.hpp"
#include "session/scratch.hpp"
#include "session/worker.hpp"

namespace perdure {
namespace {

std::string machine_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

// New, or its process died between its row and its first commit.
bool has_no_facts(const SessionSummary& row) { return row.next == 1 && !row.parent; }

}  // namespace

Runtime::Runtime(Store& store, const RuntimeOptions& options, std::unique_ptr<Worker> worker)
    : store_(store), options_(options), worker_(std::move(worker)) {}

Runtime::~Runtime() = default;

Result<std::unique_ptr<Runtime>> Runtime::start(Store& store, const RuntimeOptions& options) {
  auto worker = Worker::enroll(store, *options.clock,
                               {.id = mint<WorkerTag>(*options.ids),
                                .host = options.host.empty() ? machine_name() : options.host,
                                .pid = options.pid == 0 ? ::getpid() : options.pid,
                                .lease_time = options.lease_time,
                                .renews_itself = options.renews_itself});
  if (!worker) return forward(worker);
  // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): the constructor is private.
  return std::unique_ptr<Runtime>(new Runtime(store, options, *std::move(worker)));
}

Result<void> Runtime::renew() { return worker_->renew(); }

std::unique_ptr<SessionParts> Runtime::parts_of(Lease lease, std::optional<Holder> before) {
  auto parts = std::make_unique<SessionParts>(
      HeldSession::World{store_, *worker_, *options_.clock, *options_.ids, options_.tools,
                         options_.policy},
      std::move(lease), std::move(before));
  parts->scratch_base = options_.scratchpad_base;
  return parts;
}

Result<Session> Runtime::hold(Lease lease, SessionSummary row) {
  auto parts = parts_of(std::move(lease), std::move(row.holder));
  HeldSession& held = parts->held;
  if (auto loaded = held.load(); !loaded) return forward(loaded);
  if (!held.state().origin) {
    Draft draft = held.draft();
    if (auto added = add_beginning(held, row.parent, draft); !added) return forward(added);
    if (auto receipt = held.commit(std::move(draft)); !receipt) return forward(receipt);
  }
  if (row.parent && row.parent->lineage == Lineage::child) parts->parent = row.parent;
  follow_metadata(*parts, row.metadata);
  return Session(std::move(parts));
}

Result<Session> Runtime::create(const SessionSpec& spec) {
  const SessionId id = spec.id ? *spec.id : mint<SessionTag>(*options_.ids);
  auto created = store_.sessions().create({.id = id, .annotation = spec.annotation});
  if (!created && created.error().code != ErrorCode::already_exists) return forward(created);
  auto row = store_.sessions().read(id);
  if (!row) return forward(row);
  if (!created && !has_no_facts(*row)) return forward(created);
  auto lease = store_.ownership().acquire(id, worker_->id());
  if (!lease) return forward(lease);
  // Whoever began it may have gone on, or ended, since we looked.
  row = store_.sessions().read(id);
  if (!row || !has_no_facts(*row)) {
    [[maybe_unused]] const auto released = store_.ownership().release(*lease);
    if (!row) return forward(row);
    return fail(ErrorCode::already_exists,
                fmt::format("session {} was begun by others", id.text()));
  }
  auto parts = parts_of(*std::move(lease), std::nullopt);
  Draft draft = parts->held.draft();
  draft.add(replacing("origin", "origin",
                      to_json(Origin{.root = id.text(), .agent_digest = spec.agent_digest})));
  if (spec.setup) draft.add(replacing("setup", "setup", to_json(*spec.setup)));
  if (spec.budget_micros) {
    Budget budget;
    auto limit = enter(budget, {.change = BudgetChange::limit, .micros = spec.budget_micros});
    if (!limit) return forward(limit);
    draft.add(appending("budget", std::string(to_string(limit->change)), to_json(*limit)));
  }
  if (auto receipt = parts->held.commit(std::move(draft)); !receipt) return forward(receipt);
  follow_metadata(*parts, row->metadata);
  return Session(std::move(parts));
}

Result<Session> Runtime::open(const SessionId& id, Duration wait) {
  const Uptime deadline = options_.clock->uptime() + wait;
  for (;;) {
    auto seen = store_.changes().current();
    if (!seen) return forward(seen);
    // Who held it is not known any more once it is ours.
    auto row = store_.sessions().read(id);
    if (!row) return forward(row);
    if (auto noted = note_ended_worker(store_, *row); !noted) return forward(noted);
    auto lease = store_.ownership().acquire(id, worker_->id());
    if (lease) return hold(*std::move(lease), *std::move(row));
    if (lease.error().code != ErrorCode::lease_held) return forward(lease);
    const Duration left = deadline - options_.clock->uptime();
    if (left <= Duration(0)) return name_holder(store_, id, std::move(lease).error());
    // An owner that dies writes nothing that could be waited for.
    auto waited = store_.changes().wait(*seen, std::min(left, Duration(200)));
    if (!waited) return forward(waited);
  }
}

Result<std::optional<Origin>> Runtime::origin_of(const SessionId& id) {
  auto entries = store_.log().read(id, {.channel = "origin"});
  if (!entries) return forward(entries);
  State state;
  for (const Entry& entry : *entries) fold(state, entry);
  return std::move(state.origin);
}

Result<bool> Runtime::is_of(const SessionId& id, std::string_view agent_digest) {
  auto value = store_.log().find_value(id, "origin", Point::head());
  if (!value) return forward(value);
  if (!*value || (*value)->condition != Condition::intact) return false;
  const auto origin = origin_from_json((*value)->body.bytes());
  return origin && origin->agent_digest == agent_digest;
}

Result<void> Runtime::begin_fork(const SessionId& id, const ForkSpec& spec) {
  auto session = open(id);
  if (!session) return forward(session);
  HeldSession& held = session->parts().held;
  Draft draft = held.draft();
  if (spec.fresh_effects) {
    Origin origin = session->state().origin.value_or(Origin{});
    origin.root = id.text();
    draft.add(replacing("origin", "origin", to_json(origin)));
  }
  if (spec.system_prompt || spec.model) {
    Setup setup = session->state().setup.value_or(Setup{});
    if (spec.system_prompt) setup.system_prompt = *spec.system_prompt;
    if (spec.model) setup.model = *spec.model;
    draft.add(replacing("setup", "setup", to_json(setup)));
  }
  draft.batch.status = StatusChange{.status = Status::active};
  if (auto receipt = held.commit(std::move(draft)); !receipt) return forward(receipt);
  // The fork is there; a lease that could not be given back runs out.
  [[maybe_unused]] const auto released = session->close();
  return {};
}

Result<Forked> Runtime::fork(const SessionId& from, Point at, const ForkSpec& spec) {
  Forked forked{.id = spec.id ? *spec.id : mint<SessionTag>(*options_.ids)};
  NewSession made{
      .id = forked.id,
      .annotation = spec.annotation,
      .origin = NewSession::Origin{.session = from, .at = at, .lineage = Lineage::fork}};
  if (spec.changes_anything()) {
    made.status = Status::failed;
    made.wait_reason = "what forked it ended before its changes were recorded: fork again";
  }
  auto row = store_.sessions().create(made);
  if (!row) return forward(row);
  auto effects = effects_after(store_, from, row->head);
  if (!effects) return forward(effects);
  forked.effects_after = *std::move(effects);
  if (spec.changes_anything()) {
    if (auto begun = begin_fork(forked.id, spec); !begun) return forward(begun);
  }
  return forked;
}

}  // namespace perdure
