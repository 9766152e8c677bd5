// Steps over a store.

#include "saver/steps.hpp"

#include <fmt/format.h>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/api/raw_json.hpp"
#include "perdure/adapters/saver.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/ownership.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/commit_surely.hpp"
#include "runtime/api/fields.hpp"
#include "saver/lease_queue.hpp"

namespace perdure::saver {
namespace {

using StepClaim = CheckpointSaver::StepClaim;
using Step = CheckpointSaver::Step;
using StepHolder = CheckpointSaver::StepHolder;
using ClaimAnswer = CheckpointSaver::ClaimAnswer;

constexpr std::string_view session_prefix = "steps:";
constexpr std::string_view claimed = "claimed";
constexpr std::string_view filled = "filled";
constexpr std::string_view released = "released";
constexpr Duration writer_lease_time{30'000};

struct StepClaimTag {
  static constexpr std::string_view prefix = "clm_";
};

std::string channel_of(const std::string& step_key) { return "step:" + to_hex(sha256(step_key)); }

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

SessionId steps_session(const std::string& thread_id) {
  return SessionId::parse(std::string(session_prefix) + to_hex(sha256(thread_id))).value();
}

bool is_steps_session(const std::string& id) {
  return id.starts_with(session_prefix) && digest_from_hex(id.substr(session_prefix.size()));
}

// The claimant's time is as long as a lease may be: a process that computes does not renew,
// and one that died is recognised without it.
Steps::Steps(Store& store, const Rules& rules)
    : store_(store),
      rules_(rules),
      claimant_(store, {.lease_time = lease_time_max, .clock = rules.clock, .ids = rules.ids}),
      writer_(store, {.lease_time = writer_lease_time, .clock = rules.clock, .ids = rules.ids}),
      queue_(store, writer_, {.wait = rules.wait, .clock = rules.clock}) {}

Result<std::optional<StepEntry>> Steps::find(const SessionId& session,
                                             const std::string& step_key) {
  auto found = store_.log().find_value(session, channel_of(step_key), Point::head());
  if (!found && found.error().code == ErrorCode::not_found) return std::nullopt;
  if (!found) return forward(found);
  if (!*found) return std::nullopt;
  auto step = step_from(**found);
  if (!step) return forward(step);
  return *std::move(step);
}

// A lost entry is shown on every channel.
Result<void> Steps::check_none_lost(const SessionSummary& session, const std::string& step_key) {
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

Result<std::optional<Holder>> Steps::find_living(const StepEntry& there) {
  auto holder = store_.ownership().find_resource(there.resource);
  if (!holder) return forward(holder);
  if (!*holder || !(*holder)->alive) return std::nullopt;
  return holder;
}

Steps::Answer Steps::answer(const std::optional<StepEntry>& there, const StepEntry& wish,
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
    return fail(ErrorCode::conflict,
                fmt::format("step \"{}\" of thread {} stands for another request: its fingerprint "
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

Result<std::string> Steps::own_resource() {
  auto worker = claimant_.ready();
  if (!worker) return forward(worker);
  auto lease = store_.ownership().acquire_resource("saver:" + worker->text(), *worker);
  if (!lease) return forward(lease);
  return lease->name;
}

Result<void> Steps::write(const LeaseScope& turn, const StepEntry& entry, Sync sync) {
  Batch batch{.id = mint<BatchTag>(*rules_.ids), .expected_head = turn.session.head};
  batch.entries = {{.channel = channel_of(entry.step_key),
                    .kind = entry.kind,
                    .fold = Fold::replace,
                    .body = body_of(entry)}};
  batch.sync = sync;
  auto receipt = commit_surely(store_, turn.lease, batch);
  if (!receipt) return forward(receipt);
  return {};
}

Result<ClaimAnswer> Steps::claim(const StepEntry& wish, const std::string& thread_id) {
  const SessionId session = steps_session(thread_id);
  auto there = find(session, wish.step_key);
  if (!there) return forward(there);
  // A step that was done needs no lease.
  auto known = answer(*there, wish, thread_id);
  if (!known) return forward(known);
  if (*known) return **std::move(known);

  auto resource = own_resource();
  if (!resource) return forward(resource);
  Answer given = std::nullopt;
  auto run = queue_.run(new_session(thread_id), [&](const LeaseScope& turn) -> Result<void> {
    auto now = find(session, wish.step_key);
    if (!now) return forward(now);
    given = answer(*now, wish, thread_id);
    if (!given || *given) return {};
    if (auto whole = check_none_lost(turn.session, wish.step_key); !whole) return whole;
    StepEntry entry = wish;
    entry.kind = claimed;
    entry.token = mint<StepClaimTag>(*rules_.ids).text();
    entry.resource = *resource;
    given = ClaimAnswer(
        StepClaim{.thread_id = thread_id, .step_key = wish.step_key, .token = entry.token});
    // If the machine dies with this, so does the claimant.
    return write(turn, entry, Sync::later);
  });
  if (!run) return forward(run);
  if (!given) return forward(given);
  return **std::move(given);
}

Result<bool> Steps::end_claim(const StepClaim& claim, const std::string& kind,
                              const RawJson& result) {
  const SessionId session = steps_session(claim.thread_id);
  // Asked first, so that no session is made for a thread that was removed.
  auto there = find(session, claim.step_key);
  if (!there) return forward(there);
  if (!*there || (*there)->token != claim.token) return false;
  if ((*there)->kind != claimed) return (*there)->kind == kind;
  bool ours = false;
  auto run = queue_.run(new_session(claim.thread_id), [&](const LeaseScope& turn) -> Result<void> {
    auto now = find(session, claim.step_key);
    if (!now) return forward(now);
    ours = *now && (*now)->token == claim.token && (*now)->kind == claimed;
    if (!ours) return {};
    StepEntry entry = **std::move(now);
    entry.kind = kind;
    entry.result = result;
    return write(turn, entry, kind == filled ? Sync::now : Sync::later);
  });
  if (!run) return forward(run);
  return ours;
}

Result<void> Steps::fill(const StepClaim& claim, const RawJson& result) {
  auto ours = end_claim(claim, std::string(filled), result);
  if (!ours) return forward(ours);
  if (*ours) return {};
  return fail(ErrorCode::lease_lost,
              fmt::format("the claim of step \"{}\" of thread {} has ended; the step is not this "
                          "worker's any more",
                          claim.step_key, claim.thread_id),
              claim.step_key);
}

Result<void> Steps::release(const StepClaim& claim) {
  auto ours = end_claim(claim, std::string(released), RawJson{});
  if (!ours) return forward(ours);
  return {};
}

Result<std::vector<Step>> Steps::list(const std::string& thread_id) {
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

}  // namespace perdure::saver
