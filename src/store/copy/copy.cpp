// How sessions move. The order is the argument:
//
// 1. Their facts are taken into the target, as an arrival: no one can list or run them there.
// 2. They are compared with the source, and synced.
// 3. The source marks them as moved, in one transaction, if none has changed since the facts were
//    read and no live worker owns one. This one transaction is the decision.
// 4. The target releases them.
//
// A death before 3 leaves sessions that run in the source, a death after 3 sessions that run nowhere
// until the move is repeated. Whoever comes next asks the source about the attempt that it finds
// in the target: an arrival that was marked is released, any other is discarded.
//
// An arrival must not be discarded while its mover may still mark it: the sessions would be gone. The
// mark compares revisions, so it is made impossible first: to acquire one of the sessions in
// the source, and to release it, raises its revision for good. Then the source is asked, and only
// then the arrival is discarded. An attempt that is not complete cannot be marked later, because
// nothing is taken into an arrival that was discarded.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "copy/comparison.hpp"
#include "copy/fact_stream.hpp"
#include "copy/fork_facts.hpp"
#include "copy/plan.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/bundle.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/ownership.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "perdure/store/upkeep.hpp"
#include "rules/followed.hpp"
#include "store/api/transfer.hpp"

namespace perdure {

namespace {

using copy::Comparison;

constexpr int move_attempts_max = 5;

bool is_secret(std::string_view option) {
  return option.starts_with("password=") || option.starts_with("sslpassword=");
}

std::string public_options(std::string_view options) {
  std::string kept;
  while (!options.empty()) {
    const std::size_t end = options.find('&');
    const std::string_view option = options.substr(0, end);
    if (!is_secret(option)) kept.append(kept.empty() ? "?" : "&").append(option);
    options = end == std::string_view::npos ? std::string_view() : options.substr(end + 1);
  }
  return kept;
}

// Only locations with "://" have a place for a password. A file may be called anything.
std::string without_password(const std::string& location) {
  const std::size_t scheme = location.find("://");
  if (scheme == std::string::npos) return location;
  const std::size_t user = scheme + 3;
  const std::size_t question = location.find('?', user);
  std::string shown = location.substr(0, question);
  // A password may hold any character, also a slash that was not escaped.
  const std::size_t host = shown.rfind('@');
  if (host != std::string::npos && host >= user) {
    const std::size_t colon = shown.find(':', user);
    if (colon < host) shown.erase(colon, host - colon);
  }
  if (question != std::string::npos) shown += public_options(location.substr(question + 1));
  return shown;
}

/// The two stores, and what the source calls the target.
struct Ends {
  Store& from;
  Store& to;
  Destination destination{};

  [[nodiscard]] std::string source() const { return from.info().incarnation; }
};

Result<Ends> ends_of(Store& from, Store& to, const std::string& place) {
  const StoreInfo target = to.info();
  if (from.info().incarnation == target.incarnation) {
    return fail(ErrorCode::invalid_argument, "both are the same store");
  }
  return Ends{.from = from,
              .to = to,
              .destination = {.incarnation = target.incarnation,
                              .place = place.empty() ? without_password(target.location) : place}};
}

Result<bool> is_marked(const Ends& ends, std::uint64_t attempt) {
  auto marked = ends.from.transfer().mark_moved(ends.destination, attempt, {});
  if (marked) return true;
  if (marked.error().code == ErrorCode::conflict) return false;
  return forward(marked);
}

// From now on no attempt can mark the session as it was. A worker that holds it as it was is in the way:
// when its lease ends, nothing has changed.
Result<void> change(Store& store, const SessionVersion& version) {
  const auto is_gone = [](ErrorCode code) {
    return code == ErrorCode::not_found || code == ErrorCode::conflict;
  };
  auto row = store.sessions().read(version.session);
  if (!row) return is_gone(row.error().code) ? Result<void>() : forward(row);
  if (row->revision != version.revision) {
    // What changed it may not be on disk yet: a crash would undo it, and the mark could be made after all.
    if (auto synced = store.sync(); !synced) return synced;
    row = store.sessions().read(version.session);
    if (!row) return is_gone(row.error().code) ? Result<void>() : forward(row);
    if (row->revision != version.revision) return {};
  }
  const WorkerId worker = mint<WorkerTag>(random_ids());
  auto enrolled = store.ownership().enroll({.id = worker, .host = "move", .pid = 1});
  if (!enrolled) return enrolled;
  auto lease = store.ownership().acquire(version.session, worker);
  auto retired = store.ownership().retire(worker);
  if (lease) return retired;
  return is_gone(lease.error().code) ? Result<void>() : forward(lease);
}

std::vector<SessionVersion> versions_in(const FactSlice& slice) {
  std::vector<SessionVersion> versions;
  for (const Fact& fact : slice.facts) {
    const auto* session = std::get_if<SessionFact>(&fact);
    if (session == nullptr || !session->row) continue;
    const SessionSummary& row = session->row->summary;
    versions.push_back({.session = row.id, .revision = row.revision});
  }
  return versions;
}

/// What an earlier call left in the target.
struct Leftover {
  Arrival arrival{};
  bool is_marked = false;
  std::vector<SessionVersion> sessions{};
};

// What was not marked is made impossible to mark.
Result<std::optional<Leftover>> find_leftover(const Ends& ends) {
  Leftover found;
  const FactSource any{.owners = {}, .arrival = {.from = ends.source(), .attempt = 0}};
  for (FactCursor next; next.kind == FactKind::session;) {
    auto slice = ends.to.transfer().read(any, next);
    if (!slice) return forward(slice);
    if (slice->attempt == 0) return std::nullopt;
    if (found.arrival.attempt != 0 && found.arrival.attempt != slice->attempt) {
      // Another attempt replaced the one whose first sessions were read.
      found = {};
      next = {};
      continue;
    }
    found.arrival = {.from = ends.source(), .attempt = slice->attempt};
    std::ranges::copy(versions_in(*slice), std::back_inserter(found.sessions));
    next = std::move(slice->next);
  }
  auto marked = is_marked(ends, found.arrival.attempt);
  if (marked && !*marked && !found.sessions.empty()) {
    auto changed = change(ends.from, found.sessions.front());
    if (!changed) return forward(changed);
    marked = is_marked(ends, found.arrival.attempt);
  }
  if (!marked) return forward(marked);
  found.is_marked = *marked;
  return found;
}

// Of a marked move. An arrival that is not there any more was released by another call if its sessions
// are.
Result<void> release(const Ends& ends, const Arrival& arrival,
                     const std::vector<SessionVersion>& sessions) {
  auto released = ends.to.transfer().release(arrival);
  const bool is_absent = !released && released.error().code == ErrorCode::lease_lost;
  if (!is_absent || sessions.empty()) return released;
  return ends.to.sessions().read(sessions.front().session) ? Result<void>() : released;
}

/// Releases or discards what an earlier call left. How many sessions were released.
Result<std::uint64_t> settle_leftover(const Ends& ends) {
  auto found = find_leftover(ends);
  if (!found) return forward(found);
  if (!*found) return 0;
  const Leftover& leftover = **found;
  auto settled = leftover.is_marked ? release(ends, leftover.arrival, leftover.sessions)
                                    : ends.to.transfer().discard(leftover.arrival);
  if (!settled) return forward(settled);
  return leftover.is_marked ? leftover.sessions.size() : 0;
}

/// One attempt to bring sessions into the target.
class Attempt {
 public:
  /// `fork`: what is brought is a fork of one of them; null: they themselves.
  Attempt(const Ends& ends, std::vector<OwnerNumber> owners, const copy::ForkFacts* fork,
          bool with_damage, const Progress& progress)
      : ends_(ends),
        source_{.owners = std::move(owners), .arrival = {}},
        fork_(fork),
        with_damage_(with_damage),
        progress_(progress),
        arrival_{.from = ends.source(), .attempt = copy::new_attempt()} {}

  /// Empty if the sessions changed meanwhile.
  Result<std::optional<MoveReport>> run() {
    auto before = copy::trace(ends_.from.transfer(), source_);
    if (!before) return forward(before);
    // A server that crashed and came back meanwhile may have lost what it took in.
    auto token = ends_.to.loss_token();
    if (!token) return forward(token);
    auto prepared = prepare();
    auto token_after = ends_.to.loss_token();
    if (prepared && *prepared && (!token_after || *token_after != *token)) {
      discard();
      if (!token_after) return forward(token_after);
      return std::nullopt;
    }
    if (!prepared || !*prepared) {
      discard();
      if (prepared) return stopped();
      if (prepared.error().code == ErrorCode::lease_lost) return forward(prepared);
    }
    auto after = copy::trace(ends_.from.transfer(), source_);
    // What changed under the reader may be all that was wrong.
    if (after && *after != *before) {
      discard();
      return std::nullopt;
    }
    if (!prepared) return forward(prepared);
    if (!after) {
      discard();
      return forward(after);
    }
    auto marked = mark();
    if (!marked) return forward(marked);
    if (!*marked) return std::nullopt;
    if (auto released = finish(); !released) return forward(released);
    step_.total = step_.done;
    if (progress_) static_cast<void>(progress_(step_));
    return report_;
  }

 private:
  [[nodiscard]] static MoveReport stopped() {
    MoveReport report;
    report.is_complete = false;
    return report;
  }

  // Its mark was not tried, or was refused: no one needs it. Should this fail, the next call does it;
  // the first error is the one to know.
  void discard() { static_cast<void>(ends_.to.transfer().discard(arrival_)); }

  // False if it was told to stop.
  Result<bool> prepare() {
    auto copied = copy();
    if (!copied || !*copied) return copied;
    Comparison comparison(copy::FactStream([this](const FactCursor& at) { return read(at); }),
                          ends_.to, arrival_);
    const std::uint64_t before = step_.done;
    auto compared = comparison.run([&](std::uint64_t seen) { return go_on(before + seen); });
    if (!compared || !*compared) return compared;
    if (!with_damage_ && !comparison.damaged().empty()) {
      const SessionId& session = *comparison.damaged().begin();
      return fail(ErrorCode::corrupted,
                  fmt::format("session {} is damaged: check the source", session.text()),
                  session.text());
    }
    report_ = comparison.report();
    report_.blobs = blobs_.size();
    if (auto synced = ends_.to.sync(); !synced) return forward(synced);
    return true;
  }

  Result<FactSlice> read(const FactCursor& from) {
    auto slice = ends_.from.transfer().read(source_, from);
    if (!slice || fork_ == nullptr) return slice;
    return fork_->apply(*std::move(slice));
  }

  // Each fact is copied, then compared.
  void count(const FactSlice& slice) {
    for (const Fact& fact : slice.facts) {
      const auto* session = std::get_if<SessionFact>(&fact);
      if (session == nullptr) return;
      step_.total += 2;
      if (!session->row) continue;
      const SessionSummary& summary = session->row->summary;
      step_.total += 2 * (summary.next + session->row->commits + summary.version);
    }
  }

  bool go_on(std::uint64_t done) {
    step_.done = done;
    step_.total = std::max(step_.total, step_.done);
    return !progress_ || progress_(step_);
  }

  // False if it was told to stop.
  Result<bool> copy() {
    for (FactCursor next; !next.is_end();) {
      auto slice = read(next);
      if (!slice) return forward(slice);
      count(*slice);
      if (!go_on(step_.done)) return false;
      std::ranges::copy(versions_in(*slice), std::back_inserter(versions_));
      if (auto put = put_blobs(*slice); !put) return forward(put);
      if (auto taken = ends_.to.transfer().take(arrival_, *slice); !taken) return forward(taken);
      step_.done += slice->facts.size();
      next = std::move(slice->next);
    }
    return true;
  }

  Result<void> put_blobs(const FactSlice& slice) {
    for (const Fact& fact : slice.facts) {
      const auto ref = copy::blob_of(fact);
      if (!ref || blobs_.contains(ref->digest)) continue;
      if (auto put = put_blob(*ref); !put) return put;
    }
    return {};
  }

  // Also one that is there: it must not be collected before it is named.
  Result<void> put_blob(const BlobRef& ref) {
    auto bytes = ends_.from.blobs().get(ref);
    if (!bytes && bytes.error().code == ErrorCode::not_found) {
      return fail(ErrorCode::corrupted, bytes.error().message, to_hex(ref.digest));
    }
    if (!bytes) return forward(bytes);
    auto put = ends_.to.blobs().put(*bytes);
    if (!put) return forward(put);
    blobs_.insert(ref.digest);
    return {};
  }

  // False if it was refused because of a change. The source of a fork is not marked. After any
  // other error it may have been done: the next call asks.
  Result<bool> mark() {
    if (fork_ != nullptr) return true;
    auto marked = ends_.from.transfer().mark_moved(ends_.destination, arrival_.attempt, versions_);
    if (marked) return true;
    const ErrorCode code = marked.error().code;
    const bool has_changed = code == ErrorCode::conflict || code == ErrorCode::not_found;
    if (has_changed || code == ErrorCode::lease_held) discard();
    if (has_changed) return false;
    return forward(marked);
  }

  // Of a move that is marked, another call may have released it. A fork was released by no one else.
  Result<void> finish() {
    return fork_ == nullptr ? release(ends_, arrival_, versions_)
                            : ends_.to.transfer().release(arrival_);
  }

  const Ends& ends_;
  const FactSource source_;
  const copy::ForkFacts* fork_;
  const bool with_damage_;
  const Progress& progress_;
  const Arrival arrival_;
  std::vector<SessionVersion> versions_;
  std::set<Digest> blobs_;
  MoveReport report_;
  Step step_;
};

/// `attempt` until the sessions did not change meanwhile.
template <class Try>
Result<MoveReport> try_again(const Progress& progress, const Try& attempt) {
  for (int i = 0; i < move_attempts_max; ++i) {
    std::optional<MoveReport> report;
    auto told = rules::followed(progress, [&](const Progress& follow) -> Result<void> {
      auto tried = attempt(follow);
      if (!tried) return forward(tried);
      report = *std::move(tried);
      return {};
    });
    if (!told) return forward(told);
    if (report) return *std::move(report);
  }
  return fail(ErrorCode::conflict,
              "the sessions changed again and again meanwhile: pause them first");
}

}  // namespace

Result<MoveReport> move_sessions(Store& from, Store& to, const MoveOptions& options,
                                 const Progress& progress) {
  auto ends = ends_of(from, to, options.place);
  if (!ends) return forward(ends);
  auto before = settle_leftover(*ends);
  if (!before) return forward(before);
  MoveOptions asked = options;
  asked.place = ends->destination.place;
  auto report =
      try_again(progress, [&](const Progress& follow) -> Result<std::optional<MoveReport>> {
        auto going = plan_move(from, asked);
        if (!going) return forward(going);
        if (going->empty()) return MoveReport{};
        auto owners =
            from.transfer().find_owners(asked.sessions.empty() ? std::vector<SessionId>{} : *going);
        if (!owners) return forward(owners);
        return Attempt(*ends, *std::move(owners), nullptr, asked.with_damage, follow).run();
      });
  if (report) report->sessions += *before;
  return report;
}

Result<void> abandon_move(Store& from, Store& to) {
  auto ends = ends_of(from, to, {});
  if (!ends) return forward(ends);
  auto found = find_leftover(*ends);
  if (!found) return forward(found);
  if (!*found) return {};
  if ((*found)->is_marked) {
    return fail(ErrorCode::conflict,
                "the sessions are the target's already: move again, and they can run there");
  }
  return to.transfer().discard((*found)->arrival);
}

Result<MoveReport> copy_session(Store& from, const SessionId& session, Store& to,
                                const CopyOptions& options, const Progress& progress) {
  auto ends = ends_of(from, to, {});
  if (!ends) return forward(ends);
  if (auto settled = settle_leftover(*ends); !settled) return forward(settled);
  return try_again(progress, [&](const Progress& follow) -> Result<std::optional<MoveReport>> {
    auto owners = from.transfer().find_owners(copy::with_relatives(from, {session}));
    if (!owners) return forward(owners);
    auto fork =
        copy::ForkFacts::of(from.transfer(), {.owners = *owners, .arrival = {}}, session, options);
    if (!fork) return forward(fork);
    return Attempt(*ends, *std::move(owners), &*fork, options.with_damage, follow).run();
  });
}

}  // namespace perdure
