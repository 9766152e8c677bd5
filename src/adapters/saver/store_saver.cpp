// Savers over a store: turns on a session, steps, puts and reads.

#include <algorithm>
#include <array>
#include <cstddef>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <unistd.h>
#include <utility>
#include <vector>

#include "core/api/guarded.hpp"
#include "core/api/json_text.hpp"
#include "core/api/own_process.hpp"
#include "core/api/raw_json.hpp"
#include "core/api/text.hpp"
#include "perdure/adapters/saver.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/commit.hpp"
#include "runtime/api/fields.hpp"
#include "runtime/api/session.hpp"
#include "runtime/api/worker.hpp"
#include "saver/thread_log.hpp"
#include "store/api/limits.hpp"
#include "store/api/lookup.hpp"

namespace perdure {
namespace saver {

// Taking turns on a session: its lease for as long as one write takes. A saver owns nothing between
// two calls, so that any process may put to any thread. It waits for another one that writes, a
// bounded time, and never for one that is dead.

/// The worker in whose name a saver writes. Enrolled at its first use, retired with this.
class SaverWorker {
 public:
  /// All must outlive this.
  SaverWorker(Store& store, Duration lease_time, const Clock& clock, IdSource& ids)
      : store_(store), lease_time_(lease_time), clock_(clock), ids_(ids) {}
  ~SaverWorker() {
    if (!id_.empty()) (void)store_.ownership().retire(id_);
  }
  SaverWorker(const SaverWorker&) = delete;
  SaverWorker& operator=(const SaverWorker&) = delete;

  /// Enrolled, and with most of its lease time to go.
  [[nodiscard]] Result<WorkerId> ready() {
    const std::lock_guard lock(mutex_);
    const Uptime now = clock_.uptime();
    if (!id_.empty() && now - renewed_ < lease_time_ / 3) return id_;
    auto renewed = id_.empty() ? enroll() : store_.ownership().renew(id_);
    if (!renewed && renewed.error().code == ErrorCode::lease_lost) renewed = enroll();
    if (!renewed) return forward(renewed);
    renewed_ = now;
    return id_;
  }

 private:
  Result<void> enroll() {
    const auto id = mint<WorkerTag>(ids_);
    auto enrolled = store_.ownership().enroll(
        {.id = id, .host = machine_name(), .pid = getpid(), .lease_time = lease_time_});
    if (enrolled) id_ = id;
    return enrolled;
  }

  Store& store_;
  const Duration lease_time_;
  const Clock& clock_;
  IdSource& ids_;
  std::mutex mutex_;
  WorkerId id_;
  Uptime renewed_{};
};

/// What one turn may use.
struct LeaseScope {
  const Lease& lease;
  const SessionSummary& session;
};

class LeaseQueue {
 public:
  /// All must outlive this. `wait`: for another process, at most.
  LeaseQueue(Store& store, Duration wait, const Clock& clock, IdSource& ids)
      : store_(store), wait_(wait), clock_(clock), worker_(store, lease_time, clock, ids) {}

  /// Runs `work` with the session's lease, which it takes and gives back. The session is
  /// made if there is none. Where the lease was lost on the way, all of it is done again;
  /// nothing was written then.
  /// Fails: as `work`; `lease_held` if it was not let go in time.
  template <class Work>
  [[nodiscard]] std::invoke_result_t<Work, const LeaseScope&> run(const NewSession& session,
                                                                  Work work) {
    for (int tries = 1;; ++tries) {
      auto done = wait_for(session.id, [&] { return run_once(session, work); });
      const bool is_held = !done && done.error().code == ErrorCode::lease_held;
      if (is_held) return name_holder(store_, session.id, std::move(done).error());
      const bool again = !done && done.error().code == ErrorCode::lease_lost;
      if (!again || tries == tries_max) return done;
    }
  }

  /// Repeats `action` while it fails with `lease_held`, and there is time. Not for code of the very
  /// session (calls.hpp).
  template <class Action>
  [[nodiscard]] std::invoke_result_t<Action> wait_for(const SessionId& session, Action action) {
    // A session's own code would wait for itself.
    const auto is_held = [&](const auto& done) {
      return !done && done.error().code == ErrorCode::lease_held &&
             !OnBehalf::is_of(session, done.error().subject);
    };
    auto done = action();
    if (!is_held(done)) return done;
    const Uptime until = clock_.uptime() + wait_;
    for (;;) {
      // The number is asked for before the next try, so that no release is slept through.
      const auto since = store_.change_number();
      done = action();
      const Duration left = until - clock_.uptime();
      if (!is_held(done) || !since || left <= Duration::zero()) return done;
      if (auto waited = store_.wait_for_change(*since, std::min(left, look_every)); !waited) {
        return forward(waited);
      }
    }
  }

 private:
  // A writer that dies with its process is recognised at once; this is for one that is stopped.
  static constexpr Duration lease_time{30'000};
  // Nothing is written when a holder dies, so a waiting caller looks again from time to time.
  static constexpr Duration look_every{100};
  static constexpr int tries_max = 100;

  template <class Work>
  std::invoke_result_t<Work, const LeaseScope&> run_once(const NewSession& session, Work& work) {
    const std::scoped_lock lock(
        in_turn_.at(std::hash<std::string>{}(session.id.text()) % in_turn_.size()));
    auto lease = acquire(session);
    if (!lease) return forward(lease);
    // Read after the lease: before it, another one could still write.
    auto summary = store_.sessions().read(session.id);
    auto done = summary ? work(LeaseScope{.lease = *lease, .session = *summary})
                        : std::invoke_result_t<Work, const LeaseScope&>(forward(summary));
    // What it left behind ends with our lease time at the latest.
    (void)store_.ownership().release(*lease);
    return done;
  }
  Result<Lease> acquire(const NewSession& session) {
    auto worker = worker_.ready();
    if (!worker) return forward(worker);
    // Its fence goes into commits only: the first that is synced brings the grant to disk too.
    auto lease = store_.ownership().acquire(session.id, *worker, Sync::later);
    if (lease || lease.error().code != ErrorCode::not_found) return lease;
    auto made = store_.sessions().create(session);
    if (!made && made.error().code != ErrorCode::already_exists) return forward(made);
    return store_.ownership().acquire(session.id, *worker, Sync::later);
  }

  Store& store_;
  const Duration wait_;
  const Clock& clock_;
  SaverWorker worker_;
  /// Threads share one lease of the worker; one of these keeps them apart, by session.
  std::array<std::mutex, 64> in_turn_;
};

// Steps of a thread: claimed, filled, looked up by key.
//
// They have their own session, so that they outlive a put that continues from an older checkpoint.
// A step is a value channel named by the hash of its key: the store finds the last entry of one
// without reading the others. Entries: `claimed`, `filled`, `released`. What decides who has a step
// is that entry, written under the session's lease; whether its claimant lives, a resource it
// holds.

/// The last entry of a step.
struct StepEntry {
  std::string kind{};
  Timestamp at{};
  std::string step_key{};
  std::string fingerprint{};
  std::string token{};     ///< Of the claim.
  std::string resource{};  ///< That its claimant holds while it lives.
  RawJson result{};
};

namespace {

using StepClaim = CheckpointSaver::StepClaim;
using Step = CheckpointSaver::Step;
using StepHolder = CheckpointSaver::StepHolder;
using ClaimAnswer = CheckpointSaver::ClaimAnswer;

constexpr std::string_view session_prefix = "steps:";
constexpr std::string_view claimed = "claimed";
constexpr std::string_view filled = "filled";
constexpr std::string_view released = "released";

struct StepClaimTag {
  static constexpr std::string_view prefix = "clm_";
};

std::string channel_of(const std::string& step_key) { return "step:" + to_hex(sha256(step_key)); }

SessionId steps_session(const std::string& thread_id) {
  return SessionId::parse(std::string(session_prefix) + to_hex(sha256(thread_id))).value();
}

bool is_steps_session(const std::string& id) {
  return id.starts_with(session_prefix) && digest_from_hex(id.substr(session_prefix.size()));
}

NewSession new_session(const std::string& thread_id) {
  NewSession session{.id = steps_session(thread_id), .status = Status::waiting};
  session.annotation.title = "steps of " + thread_id;
  session.annotation.tags = std::vector<std::string>{"steps"};
  session.wait_reason = "the next step";
  return session;
}

Body body_of(const StepEntry& entry) {
  ObjectWriter writer;
  writer.add("step", entry.step_key);
  writer.add("fingerprint", entry.fingerprint);
  writer.add("claim", entry.token);
  writer.add("holder", entry.resource);
  if (entry.kind == filled) writer.add_raw("result", entry.result.text());
  return Body::from_text(writer.finish());
}

Result<StepEntry> step_from(const Entry& entry) {
  if (entry.condition != Condition::intact) {
    return fail(ErrorCode::corrupted, "the record of a step is damaged or erased");
  }
  StepEntry step{.kind = entry.kind, .at = entry.at};
  values::Reader fields(entry.body.bytes(), "step");
  fields.text("step", step.step_key);
  fields.text("fingerprint", step.fingerprint);
  fields.text("claim", step.token);
  fields.text("holder", step.resource);
  fields.raw("result", step.result);
  if (auto unknown = fields.finish(); !unknown) return forward(unknown);
  return step;
}

Step done_step(const StepEntry& entry, const std::string& thread_id) {
  return {.thread_id = thread_id,
          .step_key = entry.step_key,
          .fingerprint = entry.fingerprint,
          .created_at = entry.at,
          .result = entry.result};
}

}  // namespace

class Steps {
 public:
  /// All must outlive this. The claimant's time is as long as a lease may be: a process that
  /// computes does not renew, and one that died is recognised without it.
  Steps(Store& store, LeaseQueue& queue, const Clock& clock, IdSource& ids)
      : store_(store), queue_(queue), ids_(ids), claimant_(store, lease_time_max, clock, ids) {}

  [[nodiscard]] Result<ClaimAnswer> claim(const StepEntry& wish, const std::string& thread_id) {
    const SessionId session = steps_session(thread_id);
    auto there = find(session, wish.step_key);
    if (!there) return forward(there);
    // A step that was done needs no lease.
    auto known = answer(*there, wish, thread_id);
    if (!known) return forward(known);
    if (*known) return **std::move(known);

    auto resource = own_resource();
    if (!resource) return forward(resource);
    return queue_.run(new_session(thread_id), [&](const LeaseScope& turn) -> Result<ClaimAnswer> {
      auto now = find(session, wish.step_key);
      if (!now) return forward(now);
      auto given = answer(*now, wish, thread_id);
      if (!given) return forward(given);
      if (*given) return **std::move(given);
      if (auto whole = check_none_lost(turn.session, wish.step_key); !whole) return forward(whole);
      StepEntry entry = wish;
      entry.kind = claimed;
      entry.token = mint<StepClaimTag>(ids_).text();
      entry.resource = *resource;
      // If the machine dies with this, so does the claimant.
      if (auto done = write(turn, entry, Sync::later); !done) return forward(done);
      return StepClaim{.thread_id = thread_id, .step_key = wish.step_key, .token = entry.token};
    });
  }

  [[nodiscard]] Result<void> fill(const StepClaim& claim, const RawJson& result) {
    auto ours = end_claim(claim, std::string(filled), result);
    if (!ours) return forward(ours);
    if (*ours) return {};
    return fail(ErrorCode::lease_lost,
                fmt::format("the claim of step \"{}\" of thread {} has ended; the step is not this "
                            "worker's any more",
                            claim.step_key, claim.thread_id),
                claim.step_key);
  }

  [[nodiscard]] Result<void> release(const StepClaim& claim) {
    auto ours = end_claim(claim, std::string(released), RawJson{});
    if (!ours) return forward(ours);
    return {};
  }

  [[nodiscard]] Result<std::vector<Step>> list(const std::string& thread_id) {
    std::vector<Step> steps;
    auto entries = store_.log().read(steps_session(thread_id), {});
    if (!entries && entries.error().code == ErrorCode::not_found) return steps;
    if (!entries) return forward(entries);
    for (const Entry& entry : *entries) {
      if (entry.kind != filled) continue;
      auto step = step_from(entry);
      if (!step) return forward(step);
      steps.push_back(done_step(*step, thread_id));
    }
    return steps;
  }

 private:
  using Answer = Result<std::optional<CheckpointSaver::ClaimAnswer>>;

  Result<std::optional<StepEntry>> find(const SessionId& session, const std::string& step_key) {
    auto found = store_.log().find_value(session, channel_of(step_key), Point::head());
    if (!found && found.error().code == ErrorCode::not_found) return std::nullopt;
    if (!found) return forward(found);
    if (!*found) return std::nullopt;
    auto step = step_from(**found);
    if (!step) return forward(step);
    return *std::move(step);
  }

  /// What a claim gets to hear from the entry that is there; empty if it may have the step.

  Answer answer(const std::optional<StepEntry>& there, const StepEntry& wish,
                const std::string& thread_id) {
    if (!there || there->kind == released) return std::nullopt;
    std::optional<Holder> holder;
    if (there->kind == claimed) {
      auto found = find_living(*there);
      if (!found) return forward(found);
      if (!*found) return std::nullopt;
      holder = *std::move(found);
    }
    if (there->fingerprint != wish.fingerprint) {
      return fail(
          ErrorCode::conflict,
          fmt::format("step \"{}\" of thread {} belongs to another request: its fingerprint "
                      "is {}, not {}",
                      wish.step_key, thread_id, there->fingerprint, wish.fingerprint),
          wish.step_key);
    }
    if (!holder) return ClaimAnswer(done_step(*there, thread_id));
    return ClaimAnswer(StepHolder{.worker = holder->worker.text(),
                                  .host = holder->host,
                                  .pid = holder->pid,
                                  .since = there->at});
  }

  /// Fails: `corrupted` if a record that may be this step's is lost: it may have been done.
  // A lost entry is shown on every channel.
  Result<void> check_none_lost(const SessionSummary& session, const std::string& step_key) {
    const std::lock_guard lock(mutex_);
    Position& whole = whole_[{session.id, session.created_at}];
    auto entries =
        store_.log().read(session.id, {.from = whole + 1, .channel = channel_of(step_key)});
    if (!entries) return forward(entries);
    for (const Entry& entry : *entries) {
      if (entry.condition == Condition::intact) continue;
      return fail(
          ErrorCode::corrupted,
          fmt::format("whether step \"{}\" was done cannot be told: the record at position {} "
                      "of session {} is damaged or erased",
                      step_key, entry.position, session.id.text()),
          step_key);
    }
    whole = session.head;
    return {};
  }

  Result<std::optional<Holder>> find_living(const StepEntry& there) {
    auto holder = store_.lookup().find_resource(there.resource);
    if (!holder) return forward(holder);
    if (!*holder || !(*holder)->alive) return std::nullopt;
    return holder;
  }

  Result<std::string> own_resource() {
    auto worker = claimant_.ready();
    if (!worker) return forward(worker);
    auto lease = store_.lookup().acquire_resource("saver:" + worker->text(), *worker);
    if (!lease) return forward(lease);
    return lease->name;
  }

  Result<void> write(const LeaseScope& turn, const StepEntry& entry, Sync sync) {
    Batch batch{.id = mint<BatchTag>(ids_), .expected_head = turn.session.head};
    batch.entries = {{.channel = channel_of(entry.step_key),
                      .kind = entry.kind,
                      .fold = Fold::replace,
                      .body = body_of(entry)}};
    batch.sync = sync;
    auto receipt = commit_surely(store_, turn.lease, batch);
    if (!receipt) return forward(receipt);
    return {};
  }

  /// Replaces the claim's entry by one of that kind, if it is still the last one.
  Result<bool> end_claim(const StepClaim& claim, const std::string& kind, const RawJson& result) {
    const SessionId session = steps_session(claim.thread_id);
    // Asked first, so that no session is made for a thread that was removed.
    auto there = find(session, claim.step_key);
    if (!there) return forward(there);
    if (!*there || (*there)->token != claim.token) return false;
    if ((*there)->kind != claimed) return (*there)->kind == kind;
    return queue_.run(new_session(claim.thread_id), [&](const LeaseScope& turn) -> Result<bool> {
      auto now = find(session, claim.step_key);
      if (!now) return forward(now);
      const bool ours = *now && (*now)->token == claim.token && (*now)->kind == claimed;
      if (!ours) return false;
      StepEntry entry = **std::move(now);
      entry.kind = kind;
      entry.result = result;
      const Sync sync = kind == filled ? Sync::now : Sync::later;
      if (auto done = write(turn, entry, sync); !done) return forward(done);
      return true;
    });
  }

  Store& store_;
  LeaseQueue& queue_;
  IdSource& ids_;
  SaverWorker claimant_;  ///< Lives as long as the process may be working on a step.
  std::mutex mutex_;
  /// Up to where no record was found to be lost, by session and when it was created.
  std::map<std::pair<SessionId, Timestamp>, Position> whole_;
};
}  // namespace saver

namespace {

using saver::Known;
using saver::Row;
using saver::ThreadLog;

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

/// A put's base, and what it changes there. Without a change the state is written whole.
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

struct Parts {
  Parts(std::shared_ptr<Store> given, const SaverOptions& options)
      : store(std::move(given)),
        sources(options.clock, options.ids),
        ids(sources.ids),
        queue(*store, options.wait, sources.clock, ids),
        steps(*store, queue, sources.clock, ids),
        recent(options.recent_bytes) {}

  // Waiting, so that no worker takes a thread for a session that it should run.
  NewSession new_session(const SessionId& id) const {
    NewSession session{.id = id, .status = Status::waiting};
    session.wait_reason = "the next put";
    session.annotation.tags = std::vector<std::string>{"thread"};
    session.annotation.metadata = Json(Json::Object{{"life", mint<LifeTag>(ids).text()}}).text();
    return session;
  }

  Result<Base> find_base(const Put& put, const SessionSummary& session) {
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

  Result<CheckpointSaver::Checkpoint> put_in_turn(const Put& put, const saver::LeaseScope& turn) {
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
    return CheckpointSaver::Checkpoint{.id = id,
                                       .thread_id = put.thread_id,
                                       .created_at = receipt->at,
                                       .state = put.state,
                                       .parent_id = put.parent_id,
                                       .metadata = put.metadata};
  }

  CheckpointSaver::Checkpoint listed(const Row& row, const SessionId& session) const {
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
            .state = CheckpointSaver::State(std::move(fetch)),
            .parent_id = row.parent,
            .metadata = row.metadata};
  }

  std::shared_ptr<Store> store;
  GuardedSources sources;
  IdSource& ids;
  saver::LeaseQueue queue;
  saver::Steps steps;
  saver::Recent recent;
};

class StoreSaver final : public CheckpointSaver {
 public:
  StoreSaver(std::shared_ptr<Store> store, const SaverOptions& options)
      : parts_(of_own_process(std::make_unique<Parts>(std::move(store), options))) {}

  Result<std::optional<Checkpoint>> get(const std::string& thread_id,
                                        const std::optional<std::string>& checkpoint_id) override {
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

  Result<Checkpoint> put(const std::string& thread_id, RawJson state,
                         const std::optional<std::string>& parent_id,
                         const RawJson& metadata) override {
    auto session = session_of(thread_id);
    if (!session) return forward(session);
    if (auto checked = check_object("a state", state, body_bytes_max); !checked) {
      return forward(checked);
    }
    // The store's limit, less what surrounds it.
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
    auto made = parts_->queue.run(parts_->new_session(*session),
                                  [&](const auto& turn) { return parts_->put_in_turn(put, turn); });
    if (!made) parts_->recent.forget(thread_id);
    return made;
  }

  Result<std::vector<Checkpoint>> list(const std::string& thread_id,
                                       const std::optional<std::string>& before,
                                       int limit) override {
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

  Result<void> remove(const std::string& thread_id) override {
    auto session = session_of(thread_id);
    if (!session) return forward(session);
    if (auto here = check_own_process(parts_); !here) return here;
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

  Result<ClaimAnswer> claim_step(const std::string& thread_id, const std::string& step_key,
                                 const std::string& fingerprint) override {
    auto session = session_of(thread_id);
    if (!session) return forward(session);
    if (auto checked = check_text("a step's key", step_key); !checked) return forward(checked);
    if (auto checked = check_text("a fingerprint", fingerprint); !checked) return forward(checked);
    return parts_->steps.claim({.step_key = step_key, .fingerprint = fingerprint}, thread_id);
  }

  Result<void> fill_step(const StepClaim& claim, const RawJson& result) override {
    return parts_->steps.fill(claim, result);
  }

  Result<void> release_step(const StepClaim& claim) override {
    return parts_->steps.release(claim);
  }

  Result<std::vector<Step>> list_steps(const std::string& thread_id) override {
    auto session = session_of(thread_id);
    if (!session) return forward(session);
    return parts_->steps.list(thread_id);
  }

 private:
  // Owned alone. A shared_ptr only hides its deleter, which deletes nothing in a forked child.
  std::shared_ptr<Parts> parts_;
};

}  // namespace

Result<RawJson> CheckpointSaver::State::read() const {
  if (json_) return *json_;
  return guarded("the state's `fetch`", fetch_);
}

std::unique_ptr<CheckpointSaver> make_saver(std::shared_ptr<Store> store,
                                            const SaverOptions& options) {
  return std::make_unique<StoreSaver>(std::move(store), options);
}

Result<std::unique_ptr<CheckpointSaver>> open_saver(const std::string& path,
                                                    const SaverOptions& options) {
  auto store = open_store(path == ":memory:" ? "memory:" : "sqlite:" + path,
                          {.durability = options.durability,
                           .write_wait = options.wait,
                           .clock = options.clock,
                           .ids = options.ids});
  if (!store) return forward(store);
  return make_saver(*std::move(store), options);
}

}  // namespace perdure
