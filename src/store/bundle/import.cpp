// An import is an arrival whose source is a file, which cannot be asked how an import ended. So none is
// taken up again: the next one deletes what is there, and begins from the start.

#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "bundle/bundle_file.hpp"
#include "copy/fact_stream.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "perdure/store/upkeep.hpp"
#include "rules/calls.hpp"
#include "rules/followed.hpp"
#include "store/api/bundle.hpp"
#include "store/api/limits.hpp"
#include "store/api/lookup.hpp"
#include "store/api/seam.hpp"
#include "store/api/transfer.hpp"

namespace perdure {

namespace {

using bundle::BundleFacts;

/// The original may continue, and what it did since is unknown here.
void come_up_paused(Fact& fact) {
  auto* session = std::get_if<SessionFact>(&fact);
  if (session == nullptr || !session->row) return;
  SessionSummary& row = session->row->summary;
  const bool could_run = row.status == Status::active || row.status == Status::waiting;
  row.restored = could_run || row.status == Status::paused;
  if (!could_run) return;
  row.status = Status::paused;
  row.wake_at.reset();
  row.wait_reason = fmt::format("imported from a bundle: the original may have gone on since {}",
                                to_iso8601(row.updated_at));
}

// Programs obey what a session's metadata says, and the file's author wrote it. One that was set
// aside before stays as it is; what would not be sound any more, one level deeper, is left out.
void set_metadata_aside(Fact& fact) {
  auto* session = std::get_if<SessionFact>(&fact);
  if (session == nullptr || !session->row) return;
  std::string& metadata = session->row->summary.metadata;
  const auto before = parse_json(metadata);
  const Json::Object* members = before ? before->as_object() : nullptr;
  if (members != nullptr && members->empty()) return;
  if (members != nullptr && members->size() == 1 && before->find(imported_member) != nullptr)
    return;
  const std::string aside = fmt::format(R"({{"{}":{}}})", imported_member, metadata);
  const bool fits = aside.size() <= metadata_bytes_max && parse_json(aside);
  metadata = fits ? aside : fmt::format(R"({{"{}":{{}}}})", imported_member);
}

// A key has one holder.
Result<void> hold_alone(const Fact& fact, std::set<Digest>& held) {
  std::optional<Digest> key;
  const Call* call = nullptr;
  if (const auto* of_session = std::get_if<CallFact>(&fact)) {
    call = &of_session->call;
    key = rules::held_key(*call);
  } else if (const auto* of_removed = std::get_if<ClaimFact>(&fact)) {
    call = &of_removed->call;
    key = call->key;
    if (!rules::holds_key(call->state)) {
      return fail(ErrorCode::corrupted,
                  fmt::format("the bundle contradicts itself: call {} holds a key, and is {}",
                              call_name(call->session, call->position), to_string(call->state)),
                  call_name(call->session, call->position));
    }
  }
  if (!key || held.insert(*key).second) return {};
  const std::string name = call_name(call->session, call->position);
  return fail(ErrorCode::corrupted,
              fmt::format("the bundle contradicts itself: two calls hold one key, and {} is one of "
                          "them",
                          name),
              name);
}

// A stranger's claim that a call was made must not keep it from being made here.
void disown_calls(Fact& fact) {
  if (auto* call = std::get_if<CallFact>(&fact)) rules::disown(call->call);
  if (auto* claim = std::get_if<ClaimFact>(&fact)) rules::disown(claim->call);
}

// Messages that decide about calls, or say that nothing of them runs any more.
bool is_decision(std::string_view kind) {
  return kind == "approve" || kind == "resolve" || kind == "ended_worker";
}

// Nor does a decision made there count as one made here: of a kind that no session knows, it is moved
// to the log and does nothing.
void set_decisions_aside(Fact& fact) {
  auto* mail = std::get_if<MessageFact>(&fact);
  if (mail == nullptr || mail->consumed || !is_decision(mail->message.kind)) return;
  mail->message.kind.insert(0, "void_");
}

// The one before, if any, was cut off, or loses its place.
Result<Arrival> begin(Store& store) {
  Arrival arrival{.from = std::string(rules::place_of_bundles)};
  if (auto cleared = store.transfer().discard(arrival); !cleared) return forward(cleared);
  arrival.attempt = copy::new_attempt();
  return arrival;
}

class Import {
 public:
  Import(Store& store, const std::string& path, const ImportOptions& options,
         const Progress& progress)
      : store_(store), path_(path), options_(options), progress_(progress) {}

  // Each of these returns false if it was asked to stop.

  Result<bool> check() {
    auto checked = check_bundle(path_, [this](const Step& step) {
      total_ = 3 * step.total;
      return go_on(step.done);
    });
    if (!checked) return forward(checked);
    report_ = *std::move(checked);
    return report_.is_complete;
  }

  Result<bool> take(const Arrival& arrival) {
    auto facts = open([this](const std::string& bytes) -> Result<void> {
      auto put = store_.blobs().put(bytes);
      if (!put) return forward(put);
      return {};
    });
    if (!facts) return forward(facts);
    while (true) {
      if (!go_on(report_.bytes + facts->position())) return false;
      auto slice = next(*facts, &held_);
      if (!slice) return forward(slice);
      if (!*slice) return true;
      auto taken = store_.transfer().take(arrival, **slice);
      if (!taken) return forward(taken);
    }
  }

  Result<bool> compare(const Arrival& arrival) {
    auto facts = open({});
    if (!facts) return forward(facts);
    copy::FactStream source([&](const FactCursor&) -> Result<FactSlice> {
      auto slice = next(*facts);
      if (!slice) return forward(slice);
      if (*slice) return **std::move(slice);
      return fail(ErrorCode::corrupted, "the bundle was changed while it was read");
    });
    copy::Comparison comparison(std::move(source), store_, arrival);
    auto compared =
        comparison.run([&](std::uint64_t) { return go_on(2 * report_.bytes + facts->position()); });
    if (!compared || !*compared) return compared;
    if (options_.with_damage || comparison.damaged().empty()) return true;
    const SessionId& session = *comparison.damaged().begin();
    return fail(ErrorCode::corrupted,
                fmt::format("session {} was damaged when it was exported", session.text()),
                session.text());
  }

  Result<bool> check_arrival(const Arrival& arrival) {
    if (options_.with_damage) return true;
    return bundle::check_arrival(store_, arrival, [&] { return go_on(total_); });
  }

  [[nodiscard]] const BundleReport& report() const { return report_; }

 private:
  bool go_on(std::uint64_t done) {
    return !progress_ || progress_({.done = done, .total = total_});
  }

  Result<BundleFacts> open(BundleFacts::TakeBlob take_blob) {
    return BundleFacts::open(path_, std::move(take_blob));
  }

  // As the store is to have it.
  Result<std::optional<FactSlice>> next(BundleFacts& facts, std::set<Digest>* held = nullptr) {
    auto slice = facts.next();
    if (!slice) return slice;
    if (!*slice && facts.report() != report_) {
      return fail(ErrorCode::corrupted, "the bundle was changed while it was read", path_);
    }
    if (*slice) {
      for (Fact& fact : (*slice)->facts) {
        if (auto only = held == nullptr ? Result<void>() : hold_alone(fact, *held); !only) {
          return forward(only);
        }
        come_up_paused(fact);
        if (!options_.accept_claims) {
          disown_calls(fact);
          set_decisions_aside(fact);
        }
        set_metadata_aside(fact);
      }
    }
    return slice;
  }

  Store& store_;
  const std::string& path_;
  const ImportOptions& options_;
  const Progress& progress_;
  std::uint64_t total_ = 0;  ///< The file is read three times.
  std::set<Digest> held_;    ///< Keys that its calls hold.
  BundleReport report_;
};

// The answer to a release may get lost and be repeated: then the sessions are there.
Result<void> release(Store& store, const Arrival& arrival, const BundleReport& report) {
  auto released = release(store.transfer(), arrival);
  const bool is_lost = !released && released.error().code == ErrorCode::lease_lost;
  if (!is_lost || report.sessions.empty() || !store.sessions().read(report.sessions.front())) {
    return released;
  }
  return {};
}

// All of it, up to the moment at which the sessions are there.
Result<bool> prepare(Import& work, const Arrival& arrival) {
  auto taken = work.take(arrival);
  if (!taken || !*taken) return taken;
  auto compared = work.compare(arrival);
  if (!compared || !*compared) return compared;
  return work.check_arrival(arrival);
}

Result<BundleReport> import_file(Store& store, const std::string& path,
                                 const ImportOptions& options, const Progress& progress) {
  Import work(store, path, options, progress);
  auto checked = work.check();
  if (!checked) return forward(checked);
  if (!*checked) return work.report();
  auto arrival = begin(store);
  if (!arrival) return forward(arrival);
  auto prepared = prepare(work, *arrival);
  if (!prepared || !*prepared) {
    // Should that fail too, the next import does it; the first error is the one to know.
    static_cast<void>(store.transfer().discard(*arrival));
    if (!prepared) return forward(prepared);
    BundleReport stopped;
    stopped.is_complete = false;
    return stopped;
  }
  if (auto synced = store.sync(); !synced) return forward(synced);
  if (auto released = release(store, *arrival, work.report()); !released) return forward(released);
  return work.report();
}

}  // namespace

Result<BundleReport> import_bundle(Store& store, const std::string& path,
                                   const ImportOptions& options, const Progress& progress) {
  return rules::followed(
      progress, [&](const Progress& told) { return import_file(store, path, options, told); });
}

}  // namespace perdure
