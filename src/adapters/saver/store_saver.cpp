// Savers over a store: puts and reads; steps are in steps.cpp.

#include <algorithm>
#include <array>
#include <cstddef>
#include <fmt/format.h>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/api/guarded.hpp"
#include "core/api/own_process.hpp"
#include "perdure/adapters/saver.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/commit_surely.hpp"
#include "saver/delta.hpp"
#include "saver/lease_queue.hpp"
#include "saver/steps.hpp"
#include "saver/thread_log.hpp"

namespace perdure {
namespace {

using saver::Known;
using saver::LoadedState;
using saver::Row;
using saver::ThreadLog;

// A put that dies with its process is recognised at once; this is for one that is stopped.
constexpr Duration put_lease_time{30'000};
constexpr std::size_t key_bytes_max = text_bytes_max;

struct CheckpointTag {
  static constexpr std::string_view prefix = "ckp_";
};
struct LifeTag {
  static constexpr std::string_view prefix = "life_";
};

Result<SessionId> session_of(const std::string& thread_id) {
  if (saver::is_steps_session(thread_id)) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("\"{}\" is the name of a thread's steps", thread_id));
  }
  return SessionId::parse(thread_id);
}

Result<void> check_object(std::string_view what, const RawJson& json, std::size_t bytes_max) {
  const std::size_t first = json.text().find_first_not_of(" \t\r\n");
  if (json.text().at(first) != '{') {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{} must be a JSON object, not {:.20}", what, json.text()));
  }
  if (json.text().size() > bytes_max) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{} has {} bytes, more than {}", what, json.text().size(), bytes_max));
  }
  return {};
}

Result<void> check_text(std::string_view what, const std::string& text) {
  if (!text.empty() && text.size() <= key_bytes_max && fits_json(text)) return {};
  return fail(ErrorCode::invalid_argument,
              fmt::format("{} must have 1 to {} bytes of UTF-8", what, key_bytes_max));
}

std::string life_of(const SessionSummary& session) {
  return session.metadata + to_iso8601(session.created_at);
}

/// A put on its way.
struct Put {
  const std::string& thread_id;
  const SessionId& session;
  std::shared_ptr<const RawJson> state;
  const std::optional<std::string>& parent_id;
  const RawJson& metadata;
};

/// What a put goes on from, and what it changes there. Without a change the state is written whole.
struct Base {
  std::optional<Point> branch{};
  std::optional<saver::Delta> change{};
  std::size_t cost = 0;
};

// A base that is damaged is left alone, and the put heals the line: its state is whole.
Result<Base> base_at(ThreadLog& log, Version version, std::string_view next) {
  auto loaded = log.load(version);
  if (!loaded && loaded.error().code != ErrorCode::corrupted) return forward(loaded);
  if (!loaded) return Base{};
  return Base{.change = saver::diff(loaded->text, next), .cost = loaded->cost};
}

// The entry that a put makes. Adds its cost to that of the base.
NewEntry make_entry(const std::string& text, Base& base) {
  std::string change = base.change ? saver::to_json(*base.change) : "";
  base.cost += change.size() + saver::change_cost;
  if (!base.change || base.cost > text.size()) {
    base.cost = 0;
    NewEntry entry{.channel = "state", .kind = "whole", .fold = Fold::replace};
    entry.body = Body::from_text(text);
    return entry;
  }
  NewEntry entry{.channel = "state", .kind = "change", .fold = Fold::append};
  entry.body = Body::from_text(std::move(change));
  return entry;
}

}  // namespace

struct StoreSaver::Parts {
  Parts(std::shared_ptr<Store> given, const SaverOptions& options)
      : store(std::move(given)),
        sources(options.clock, options.ids),
        ids(sources.ids),
        worker(*store,
               {.lease_time = put_lease_time, .clock = &sources.clock, .ids = &sources.ids}),
        queue(*store, worker, {.wait = options.wait, .clock = &sources.clock}),
        steps(*store, {.wait = options.wait, .clock = &sources.clock, .ids = &sources.ids}),
        recent(options.recent_bytes) {}

  std::mutex& order_of(const std::string& thread_id) {
    return orders.at(std::hash<std::string>{}(thread_id) % orders.size());
  }

  NewSession new_session(const SessionId& id) const;
  Result<Base> find_base(const Put& put, const SessionSummary& session);
  Result<Checkpoint> put_in_turn(const Put& put, const saver::LeaseScope& turn);
  Checkpoint listed(const Row& row, const SessionId& session) const;

  std::shared_ptr<Store> store;
  GuardedSources sources;
  IdSource& ids;
  saver::SaverWorker worker;
  saver::LeaseQueue queue;
  saver::Steps steps;
  saver::Recent recent;
  // Writers of one thread in this process queue here: to the store they are one worker, and
  // would lose the lease to each other.
  std::array<std::mutex, 16> orders;
};

// Waiting, so that no worker takes a thread for a session that it should run.
NewSession StoreSaver::Parts::new_session(const SessionId& id) const {
  NewSession session{.id = id, .status = Status::waiting};
  session.wait_reason = "the next put";
  session.annotation.tags = std::vector<std::string>{"thread"};
  session.annotation.metadata = Json(Json::Object{{"life", mint<LifeTag>(ids).text()}}).text();
  return session;
}

Result<Base> StoreSaver::Parts::find_base(const Put& put, const SessionSummary& session) {
  ThreadLog log(*store, put.session);
  const auto known = recent.find(put.thread_id);
  const bool is_known = known && known->life == life_of(session) && known->head == session.head;
  std::optional<Row> latest;
  if (!is_known) {
    auto found = log.latest();
    if (!found) return forward(found);
    latest = *std::move(found);
    if (!latest && session.head > 0) {
      return fail(ErrorCode::conflict,
                  fmt::format("session {} is no thread of a saver", session.id.text()),
                  session.id.text());
    }
  }
  const std::string latest_id = is_known ? known->checkpoint : latest ? latest->id : "";
  if (put.parent_id && (latest_id.empty() || *put.parent_id != latest_id)) {
    auto parent = log.find(*put.parent_id);
    if (!parent) return forward(parent);
    if (!*parent) {
      return fail(ErrorCode::not_found,
                  fmt::format("thread {} has no checkpoint {}", put.thread_id, *put.parent_id),
                  *put.parent_id);
    }
    auto base = base_at(log, (*parent)->version, put.state->text());
    if (base) base->branch = Point::version((*parent)->version);
    return base;
  }
  if (is_known) {
    return Base{.change = saver::diff(*known->text, put.state->text()), .cost = known->cost};
  }
  return latest ? base_at(log, latest->version, put.state->text()) : Base{};
}

Result<CheckpointSaver::Checkpoint> StoreSaver::Parts::put_in_turn(const Put& put,
                                                                   const saver::LeaseScope& turn) {
  auto base = find_base(put, turn.session);
  if (!base) return forward(base);
  const std::string& text = put.state->text();
  NewEntry entry = make_entry(text, *base);
  Batch batch{.id = mint<BatchTag>(ids), .expected_head = turn.session.head};
  batch.branch_from = base->branch;
  batch.entries = {std::move(entry)};
  const std::string id = mint<CheckpointTag>(ids).text();
  batch.checkpoint =
      saver::to_checkpoint({.id = id, .parent = put.parent_id, .metadata = put.metadata});
  auto receipt = commit_surely(*store, turn.lease, batch);
  if (!receipt) return forward(receipt);
  recent.keep(put.thread_id, Known{.life = life_of(turn.session),
                                   .head = receipt->head,
                                   .checkpoint = id,
                                   .text = {put.state, &text},
                                   .cost = base->cost});
  return Checkpoint{.id = id,
                    .thread_id = put.thread_id,
                    .created_at = receipt->at,
                    .state = put.state,
                    .parent_id = put.parent_id,
                    .metadata = put.metadata};
}

CheckpointSaver::Checkpoint StoreSaver::Parts::listed(const Row& row,
                                                      const SessionId& session) const {
  auto fetch = [kept = store, session, version = row.version]() -> Result<RawJson> {
    auto loaded = ThreadLog(*kept, session).load(version);
    if (!loaded) return forward(loaded);
    auto json = RawJson::from_text(std::move(loaded->text));
    if (!json) return fail(ErrorCode::corrupted, "a stored state is no JSON");
    return json;
  };
  return {.id = row.id,
          .thread_id = session.text(),
          .created_at = row.at,
          .state = State(std::move(fetch)),
          .parent_id = row.parent,
          .metadata = row.metadata};
}

Result<RawJson> CheckpointSaver::State::read() const {
  if (json_) return *json_;
  return guarded("the state's `fetch`", fetch_);
}

StoreSaver::StoreSaver(std::shared_ptr<Store> store, const SaverOptions& options)
    : parts_(of_own_process(std::make_unique<Parts>(std::move(store), options))) {}

StoreSaver::~StoreSaver() = default;

Result<std::optional<CheckpointSaver::Checkpoint>> StoreSaver::get(
    const std::string& thread_id, const std::optional<std::string>& checkpoint_id) {
  auto session = session_of(thread_id);
  if (!session) return forward(session);
  ThreadLog log(*parts_->store, *session);
  auto row = checkpoint_id ? log.find(*checkpoint_id) : log.latest();
  if (!row) return forward(row);
  if (!*row) return std::nullopt;
  Checkpoint checkpoint = parts_->listed(**row, *session);
  auto state = checkpoint.state.read();
  // Removed between the two reads: as if it had been removed before.
  if (!state && state.error().code == ErrorCode::not_found) return std::nullopt;
  if (!state) return forward(state);
  checkpoint.state = State(*std::move(state));
  return checkpoint;
}

Result<CheckpointSaver::Checkpoint> StoreSaver::put(const std::string& thread_id, RawJson state,
                                                    const std::optional<std::string>& parent_id,
                                                    const RawJson& metadata) {
  auto session = session_of(thread_id);
  if (!session) return forward(session);
  if (auto checked = check_object("a state", state, body_bytes_max); !checked) {
    return forward(checked);
  }
  // The store's limit, less what stands around it.
  constexpr std::size_t metadata_max = 16'000;
  if (auto checked = check_object("metadata", metadata, metadata_max); !checked) {
    return forward(checked);
  }
  const Put put{.thread_id = thread_id,
                .session = *session,
                .state = std::make_shared<const RawJson>(std::move(state)),
                .parent_id = parent_id,
                .metadata = metadata};
  if (auto here = check_own_process(parts_); !here) return forward(here);
  const std::lock_guard order(parts_->order_of(thread_id));
  std::optional<Checkpoint> made;
  auto run = parts_->queue.run(parts_->new_session(*session),
                               [&](const saver::LeaseScope& turn) -> Result<void> {
                                 auto done = parts_->put_in_turn(put, turn);
                                 if (!done) return forward(done);
                                 made = *std::move(done);
                                 return {};
                               });
  if (!run) {
    parts_->recent.forget(thread_id);
    return forward(run);
  }
  return *std::move(made);
}

Result<std::vector<CheckpointSaver::Checkpoint>> StoreSaver::list(
    const std::string& thread_id, const std::optional<std::string>& before, int limit) {
  auto session = session_of(thread_id);
  if (!session) return forward(session);
  std::vector<Checkpoint> checkpoints;
  if (limit <= 0) return checkpoints;
  ThreadLog log(*parts_->store, *session);
  std::optional<Version> version;
  if (before) {
    auto row = log.find(*before);
    if (!row) return forward(row);
    if (!*row) return checkpoints;
    version = (*row)->version;
  }
  auto rows = log.rows(version, static_cast<std::size_t>(limit));
  if (!rows) return forward(rows);
  for (const Row& row : *rows) checkpoints.push_back(parts_->listed(row, *session));
  return checkpoints;
}

Result<void> StoreSaver::remove(const std::string& thread_id) {
  auto session = session_of(thread_id);
  if (!session) return forward(session);
  if (auto here = check_own_process(parts_); !here) return here;
  const std::lock_guard order(parts_->order_of(thread_id));
  parts_->recent.forget(thread_id);
  // Steps first: cut off in between, the thread is still there to be removed again.
  for (const SessionId& id : {saver::steps_session(thread_id), *session}) {
    auto removed = parts_->queue.wait_for(id, [&]() -> Result<void> {
      auto freed = parts_->store->upkeep().remove(id);
      if (!freed && freed.error().code != ErrorCode::not_found) return forward(freed);
      return {};
    });
    if (!removed) return removed;
  }
  return {};
}

Result<CheckpointSaver::ClaimAnswer> StoreSaver::claim_step(const std::string& thread_id,
                                                            const std::string& step_key,
                                                            const std::string& fingerprint) {
  auto session = session_of(thread_id);
  if (!session) return forward(session);
  if (auto checked = check_text("a step's key", step_key); !checked) return forward(checked);
  if (auto checked = check_text("a fingerprint", fingerprint); !checked) return forward(checked);
  return parts_->steps.claim({.step_key = step_key, .fingerprint = fingerprint}, thread_id);
}

Result<void> StoreSaver::fill_step(const StepClaim& claim, const RawJson& result) {
  return parts_->steps.fill(claim, result);
}

Result<void> StoreSaver::release_step(const StepClaim& claim) {
  return parts_->steps.release(claim);
}

Result<std::vector<CheckpointSaver::Step>> StoreSaver::list_steps(const std::string& thread_id) {
  auto session = session_of(thread_id);
  if (!session) return forward(session);
  return parts_->steps.list(thread_id);
}

namespace {

Result<std::unique_ptr<Store>> open_for(const std::string& location, const SaverOptions& options) {
  return open_store(location, {.durability = options.durability,
                               .write_wait = options.wait,
                               .clock = options.clock,
                               .ids = options.ids});
}

}  // namespace

// Memory is always there to be opened.
InMemorySaver::InMemorySaver(const SaverOptions& options)
    : StoreSaver(open_for("memory:", options).value(), options) {}

Result<std::unique_ptr<SqliteSaver>> SqliteSaver::open(const std::string& path,
                                                       const SaverOptions& options) {
  auto store = open_for(path == ":memory:" ? "memory:" : "sqlite:" + path, options);
  if (!store) return forward(store);
  return std::make_unique<SqliteSaver>(*std::move(store), options);
}

std::shared_ptr<CheckpointSaver> saver_or_default(
    std::shared_ptr<CheckpointSaver> given, std::string_view thread_id,
    const std::function<void(std::string_view)>& notice) {
  if (given || thread_id.empty()) return given;
  const std::string line = "thread " + std::string(thread_id) +
                           " has no saver: it is kept in memory and is lost with this process";
  [[maybe_unused]] const auto told = guarded("`notice`", [&] { notice(line); });
  return std::make_shared<InMemorySaver>();
}

}  // namespace perdure
