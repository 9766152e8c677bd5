// How sessions move. The order is the argument:
//
// 1. Their facts are taken into the target, as an arrival: no one can list or run them there.
// 2. They are synced, and compared with the source.
// 3. The source marks them as moved, in one transaction, if none has changed since the facts were
//    read and no live worker owns one. This one transaction is the decision.
// 4. The target releases them.
//
// A death before 3 leaves sessions that run in the source, a death after 3 sessions that run nowhere
// until the move is repeated. The next mover asks the source about the attempt that it finds
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
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "copy/fact_stream.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "perdure/store/upkeep.hpp"
#include "rules/calls.hpp"
#include "rules/chain.hpp"
#include "rules/followed.hpp"
#include "rules/moves.hpp"
#include "rules/retention.hpp"
#include "store/api/lookup.hpp"
#include "store/api/seam.hpp"
#include "store/api/transfer.hpp"

namespace perdure {

namespace {

using copy::Comparison;
using copy::FactStream;

constexpr std::size_t sessions_at_once = 1000;

Result<std::vector<SessionId>> all_here(Store& from) {
  std::vector<SessionId> all;
  SessionQuery query{.limit = sessions_at_once};
  do {
    auto page = from.sessions().list(query);
    if (!page) return forward(page);
    if (page->is_damaged) {
      return fail(ErrorCode::corrupted,
                  "the list of sessions is damaged: some might be left behind");
    }
    for (SessionSummary& row : page->sessions) {
      if (row.moved_to.empty()) all.push_back(std::move(row.id));
    }
    query.cursor = page->next;
  } while (!query.cursor.empty());
  return all;
}

// Of those that are named, the ones that are not there yet.
Result<std::vector<SessionId>> left_to_go(Store& from, const MoveOptions& options) {
  std::vector<SessionId> left;
  for (const SessionId& session : options.sessions) {
    auto row = from.sessions().read(session);
    if (!row) return forward(row);
    if (row->moved_to.empty() || row->moved_to != options.place) left.push_back(session);
  }
  return left;
}

// The facts of a session as those of a fork of it, whose parent is not there any more.
// In the target the session that is copied is what a removed parent of a fork is: segments without a row.
// The fork comes first among the owners, under a number that no store gives; its segment comes last.
class ForkFacts {
 public:
  /// `source` are the owners of the session's family.
  /// Fails: as `Transfer::read`; `corrupted` if the session has no line.
  [[nodiscard]] static Result<ForkFacts> of(Transfer& transfer, const FactSource& source,
                                            const SessionId& session, const CopyOptions& options);

  /// Those of a slice that the fork has, as it has them.
  [[nodiscard]] FactSlice apply(FactSlice slice) const;

 private:
  void add(const Fact& fact, FactSlice& slice) const;

  SessionFact fork_;
  SegmentFact segment_;
  std::map<SegmentId, Position>
      line_;                      ///< Segments of the active line, each with its last position.
  std::set<OwnerNumber> owners_;  ///< Of these segments.
};

constexpr OwnerNumber fork_number = 0;

SessionFact::Row fork_of(SessionFact::Row parent, const CopyOptions& options) {
  SessionSummary& row = parent.summary;
  row.parent = Parent{.session = row.id, .position = row.head, .lineage = Lineage::fork};
  row.wait_reason = options.reason.empty() ? fmt::format("copied from session {}", row.id.text())
                                           : options.reason;
  row.id = options.id;
  row.status = Status::paused;
  row.wake_at.reset();
  row.next = row.head + 1;
  row.version = 0;
  row.attention = 0;
  row.restored = false;
  row.revision = 1;
  row.created_at = row.updated_at;
  parent.commits = 0;
  parent.chain = rules::chain_start(row.id);
  parent.fence = 0;
  return parent;
}

/// What is left of a call in the target: that it holds its key, or that it may have been made.
std::optional<Call> claim_of(Call call) {
  if (!call.claimed && !(call.key && rules::holds_key(call.state))) return std::nullopt;
  if (rules::is_open(call.state)) rules::disown(call);
  return call;
}

Result<ForkFacts> ForkFacts::of(Transfer& transfer, const FactSource& source,
                                const SessionId& session, const CopyOptions& options) {
  std::optional<SessionFact::Row> row;
  std::map<SegmentId, SegmentFact> segments;
  FactStream facts(transfer, source);
  while (true) {
    auto next = facts.next();
    if (!next) return forward(next);
    if (*next == nullptr) break;
    if (const auto* fact = std::get_if<SessionFact>(*next)) {
      if (fact->row && fact->row->summary.id == session) row = fact->row;
    } else if (const auto* segment = std::get_if<SegmentFact>(*next)) {
      segments.emplace(segment->segment, *segment);
    } else {
      break;
    }
  }
  ForkFacts fork;
  const Position head = row ? row->summary.head : 0;
  std::optional<SegmentId> at = row ? std::optional(row->segment) : std::nullopt;
  for (Position last = head; at;) {
    const auto segment = segments.find(*at);
    if (segment == segments.end() || !fork.line_.emplace(*at, last).second) break;
    fork.owners_.insert(segment->second.owner);
    last = segment->second.parent_position;
    at = segment->second.parent;
  }
  if (!row || at || segments.empty()) {
    return fail(ErrorCode::corrupted,
                fmt::format("the line of session {} cannot be read", session.text()),
                session.text());
  }
  fork.segment_ = {.segment = segments.rbegin()->first + 1,
                   .owner = fork_number,
                   .first = head + 1,
                   .parent = row->segment,
                   .parent_position = head};
  fork.fork_ = {.owner = fork_number, .row = fork_of(*std::move(row), options)};
  fork.fork_.row->segment = fork.segment_.segment;
  return fork;
}

void ForkFacts::add(const Fact& fact, FactSlice& slice) const {
  const auto is_on_line = [this](SegmentId segment, Position position) {
    const auto found = line_.find(segment);
    return found != line_.end() && position <= found->second;
  };
  if (const auto* session = std::get_if<SessionFact>(&fact)) {
    if (owners_.contains(session->owner)) {
      slice.facts.emplace_back(SessionFact{.owner = session->owner, .row = {}});
    }
  } else if (const auto* segment = std::get_if<SegmentFact>(&fact)) {
    if (line_.contains(segment->segment)) slice.facts.push_back(fact);
  } else if (const auto* pruned = std::get_if<PrunedFact>(&fact)) {
    if (is_on_line(pruned->segment, pruned->first)) slice.facts.push_back(fact);
  } else if (const auto* entry = std::get_if<Entry>(&fact)) {
    if (is_on_line(entry->segment, entry->position)) slice.facts.push_back(fact);
  } else if (const auto* call = std::get_if<CallFact>(&fact)) {
    if (auto claim = claim_of(call->call)) slice.facts.emplace_back(ClaimFact{*std::move(claim)});
  } else if (std::holds_alternative<ClaimFact>(fact) ||
             std::holds_alternative<ResourceFact>(fact)) {
    slice.facts.push_back(fact);
  }
}

FactSlice ForkFacts::apply(FactSlice slice) const {
  FactSlice mine{.from = std::move(slice.from), .facts = {}, .next = std::move(slice.next)};
  if (mine.from == FactCursor{}) mine.facts.emplace_back(fork_);
  for (const Fact& fact : slice.facts) add(fact, mine);
  const auto* last = slice.facts.empty() ? nullptr : std::get_if<SegmentFact>(&slice.facts.back());
  if (last != nullptr && last->segment + 1 == segment_.segment) mine.facts.emplace_back(segment_);
  return mine;
}

constexpr int move_attempts_max = 5;

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
                              .place = place.empty() ? target.location : place}};
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

/// `arrival` with its sessions; nothing if it was released or discarded meanwhile.
Result<std::optional<Leftover>> read_leftover(const Ends& ends, const std::string& from) {
  Leftover found;
  const FactSource any{.owners = {}, .arrival = {.from = from, .attempt = 0}};
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
    found.arrival = {.from = from, .attempt = slice->attempt};
    std::ranges::copy(versions_in(*slice), std::back_inserter(found.sessions));
    next = std::move(slice->next);
  }
  return found;
}

// What was not marked is made impossible to mark.
Result<bool> settle_mark(const Ends& ends, const Leftover& leftover) {
  auto marked = is_marked(ends, leftover.arrival.attempt);
  if (!marked || *marked || leftover.sessions.empty()) return marked;
  if (auto changed = change(ends.from, leftover.sessions.front()); !changed) {
    return forward(changed);
  }
  return is_marked(ends, leftover.arrival.attempt);
}

// A source that was restored, or lost commits, has another incarnation: an arrival that it marked
// before is known by its attempt. One that it did not mark may be another store's.
Result<std::vector<Leftover>> find_leftovers(const Ends& ends) {
  auto there = ends.to.transfer().read({.owners = {}, .arrival = {.from = ends.source()}}, {});
  if (!there) return forward(there);
  std::vector<Leftover> leftovers;
  for (const Arrival& arrival : there->arrivals) {
    const bool is_own = arrival.from == ends.source();
    auto marked = is_own ? Result<bool>(true) : is_marked(ends, arrival.attempt);
    if (!marked) return forward(marked);
    if (!*marked) continue;
    auto found = read_leftover(ends, arrival.from);
    if (!found) return forward(found);
    if (!*found) continue;
    marked = settle_mark(ends, **found);
    if (!marked) return forward(marked);
    (*found)->is_marked = *marked;
    if (is_own || *marked) leftovers.push_back(**std::move(found));
  }
  return leftovers;
}

// Of a marked move. An arrival that is not there any more was released by another call if its sessions
// are.
Result<void> release(const Ends& ends, const Arrival& arrival,
                     const std::vector<SessionVersion>& sessions) {
  auto released = release(ends.to.transfer(), arrival);
  const bool is_absent = !released && released.error().code == ErrorCode::lease_lost;
  if (!is_absent || sessions.empty()) return released;
  return ends.to.sessions().read(sessions.front().session) ? Result<void>() : released;
}

/// Releases or discards what earlier calls left. How many sessions were released.
Result<std::uint64_t> settle_leftovers(const Ends& ends) {
  auto found = find_leftovers(ends);
  if (!found) return forward(found);
  std::uint64_t count = 0;
  for (const Leftover& leftover : *found) {
    auto settled = leftover.is_marked ? release(ends, leftover.arrival, leftover.sessions)
                                      : ends.to.transfer().discard(leftover.arrival);
    if (!settled) return forward(settled);
    if (leftover.is_marked) count += leftover.sessions.size();
  }
  return count;
}

// Nothing moves a session that is marked: where the target has lost it, that must be said.
Result<void> check_arrived(const Ends& ends, const std::vector<SessionId>& sessions) {
  for (const SessionId& session : sessions) {
    auto row = ends.from.sessions().read(session);
    if (!row) return forward(row);
    if (row->moved_to != ends.destination.place) continue;
    auto there = ends.to.sessions().read(session);
    if (there || there.error().code != ErrorCode::not_found) continue;
    return fail(ErrorCode::not_found,
                fmt::format("session {0} was moved to {1}, which does not have it: it was removed "
                            "there, or that store was salvaged or replaced. It can still be read "
                            "where it was: perdure show {0}",
                            session.text(), row->moved_to),
                session.text());
  }
  return {};
}

/// One attempt to bring sessions into the target.
class Attempt {
 public:
  /// `fork`: what is brought is a fork of one of them; null: they themselves.
  Attempt(const Ends& ends, std::vector<OwnerNumber> owners, const ForkFacts* fork,
          bool with_damage, const Progress& progress)
      : ends_(ends),
        source_(ends.from.transfer(), {.owners = std::move(owners), .arrival = {}}),
        fork_(fork),
        with_damage_(with_damage),
        progress_(progress),
        arrival_{.from = ends.source(), .attempt = copy::new_attempt()} {}

  /// Empty if the sessions changed meanwhile.
  Result<std::optional<MoveReport>> run() {
    auto before = source_.trace();
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
    // What changed under the reader may be all that was wrong.
    auto changed = source_.has_changed(*before, !prepared);
    if (changed && *changed) {
      discard();
      return std::nullopt;
    }
    if (!prepared) return forward(prepared);
    if (!changed) {
      discard();
      return forward(changed);
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

  // False if it was asked to stop.
  Result<bool> prepare() {
    auto copied = copy();
    if (!copied || !*copied) return copied;
    // What is compared is on disk already: a crash of the target after this loses nothing of it, also
    // where no token tells of one.
    if (auto synced = ends_.to.sync(); !synced) return forward(synced);
    Comparison comparison(FactStream([this](const FactCursor& at) { return read(at); }), ends_.to,
                          arrival_);
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
    return true;
  }

  Result<FactSlice> read(const FactCursor& from) {
    auto slice = source_.read(from);
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

  // False if it was asked to stop.
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
      const auto ref = rules::blob_of(fact);
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
                            : release(ends_.to.transfer(), arrival_);
  }

  const Ends& ends_;
  copy::SourceFacts source_;
  const ForkFacts* fork_;
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

Result<std::vector<SessionId>> plan_move(Store& from, const MoveOptions& options) {
  const bool is_all = options.sessions.empty();
  auto going = is_all ? all_here(from) : left_to_go(from, options);
  if (!going || going->empty()) return going;
  if (options.with_relatives && !is_all) going = copy::with_relatives(from, *std::move(going));
  auto owners = find_owners(from.transfer(), is_all ? std::vector<SessionId>{} : *going);
  if (!owners) return forward(owners);
  return going;
}

Result<MoveReport> move_sessions(Store& from, Store& to, const MoveOptions& options,
                                 const Progress& progress) {
  auto ends = ends_of(from, to, options.place);
  if (!ends) return forward(ends);
  auto before = settle_leftovers(*ends);
  if (!before) return forward(before);
  if (auto arrived = check_arrived(*ends, options.sessions); !arrived) return forward(arrived);
  MoveOptions asked = options;
  asked.place = ends->destination.place;
  auto report =
      try_again(progress, [&](const Progress& follow) -> Result<std::optional<MoveReport>> {
        auto going = plan_move(from, asked);
        if (!going) return forward(going);
        if (going->empty()) return MoveReport{};
        auto owners = find_owners(from.transfer(),
                                  asked.sessions.empty() ? std::vector<SessionId>{} : *going);
        if (!owners) return forward(owners);
        return Attempt(*ends, *std::move(owners), nullptr, asked.with_damage, follow).run();
      });
  if (report) report->sessions += *before;
  return report;
}

Result<void> abandon_move(Store& from, Store& to) {
  auto ends = ends_of(from, to, {});
  if (!ends) return forward(ends);
  auto found = find_leftovers(*ends);
  if (!found) return forward(found);
  if (std::ranges::any_of(*found, &Leftover::is_marked)) {
    return fail(ErrorCode::conflict,
                "the sessions are the target's already: move again, and they can run there");
  }
  for (const Leftover& leftover : *found) {
    if (auto gone = to.transfer().discard(leftover.arrival); !gone) return gone;
  }
  return {};
}

Result<MoveReport> copy_session(Store& from, const SessionId& session, Store& to,
                                const CopyOptions& options, const Progress& progress) {
  auto ends = ends_of(from, to, {});
  if (!ends) return forward(ends);
  if (auto settled = settle_leftovers(*ends); !settled) return forward(settled);
  return try_again(progress, [&](const Progress& follow) -> Result<std::optional<MoveReport>> {
    auto owners = find_owners(from.transfer(), copy::with_relatives(from, {session}));
    if (!owners) return forward(owners);
    auto fork =
        ForkFacts::of(from.transfer(), {.owners = *owners, .arrival = {}}, session, options);
    if (!fork) return forward(fork);
    return Attempt(*ends, *std::move(owners), &*fork, options.with_damage, follow).run();
  });
}

}  // namespace perdure
