// The order is the argument. Nothing can run in the source from `depart` on; nothing can run in
// the target before it is ended there; and it is ended there only after the source has ended it,
// on disk. So no two copies of a session ever run. Whatever dies in between, the two stores say
// how far it got, and the one thing that must not wait comes first: to end in the target what
// the source has ended.

#include "perdure/store/copy.hpp"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "copy/comparison.hpp"
#include "copy/fact_stream.hpp"
#include "copy/family.hpp"
#include "copy/place.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/facts.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "perdure/store/transfer.hpp"
#include "perdure/store/upkeep.hpp"
#include "rules/followed.hpp"

namespace perdure {

namespace {

using copy::Comparison;

/// The two ends of a move.
struct Ends {
  Store& from;
  Store& to;
  Passage departing{};
  Passage arriving{};
  FactCursor next{};  ///< How far it has come.
};

// Nothing will be other at the next attempt: the sessions had better run where they are.
bool is_final(ErrorCode code) {
  return code == ErrorCode::already_exists || code == ErrorCode::conflict ||
         code == ErrorCode::corrupted;
}

/// What both stores say of moves from one to the other.
struct Standing {
  Departure departure;
  Arrival arrival;

  [[nodiscard]] bool is_arriving() const { return arrival.ticket != 0; }
  /// The source is done, and the target does not know it yet.
  [[nodiscard]] bool is_only_to_land() const {
    return is_arriving() && arrival.ticket == departure.finished;
  }
  [[nodiscard]] bool is_open_in_both() const {
    return is_arriving() && departure.open != 0 && arrival.ticket >= departure.since;
  }
};

class Mover {
 public:
  Mover(Store& from, Store& to)
      : from_(from), to_(to), source_(from.info().incarnation), target_(to.info().incarnation) {}

  Result<void> check_apart() const {
    if (source_ != target_) return {};
    return fail(ErrorCode::invalid_argument, "both are the same store");
  }

  Result<Standing> look() {
    auto arrival = to_.transfer().find_arrival(source_);
    if (!arrival) return forward(arrival);
    auto departure = from_.transfer().find_departure(target_);
    if (!departure) return forward(departure);
    return Standing{.departure = *departure, .arrival = *std::move(arrival)};
  }

  Result<void> land(const Standing& standing) {
    return to_.transfer().end(arriving(standing.arrival.ticket), MoveEnd::moved);
  }

  Result<Ends> open(const CopyOptions& options) {
    const Destination to{.incarnation = target_,
                         .place = options.place.empty()
                                      ? copy::without_password(to_.info().location)
                                      : options.place};
    auto departure = from_.transfer().depart(to, options.sessions);
    if (!departure) return forward(departure);
    auto arrival = to_.transfer().arrive(source_, *departure);
    if (!arrival) return forward(arrival);
    return Ends{.from = from_,
                .to = to_,
                .departing = departing(departure->open),
                .arriving = arriving(departure->open),
                .next = std::move(arrival->next)};
  }

  // First the source: once it has abandoned the move, nobody can finish it there any more, and so
  // nobody will let it run in the target.
  Result<void> abandon(Ticket open) {
    return from_.transfer().end(departing(open), MoveEnd::abandoned);
  }
  Result<void> throw_away(Ticket ticket) {
    return to_.transfer().end(arriving(ticket), MoveEnd::abandoned);
  }

 private:
  [[nodiscard]] Passage departing(Ticket ticket) const {
    return {.side = Side::departing, .peer = target_, .ticket = ticket};
  }
  [[nodiscard]] Passage arriving(Ticket ticket) const {
    return {.side = Side::arriving, .peer = source_, .ticket = ticket};
  }

  Store& from_;
  Store& to_;
  const std::string source_;
  const std::string target_;
};

/// One move, from wherever it stopped to its end.
class Move {
 public:
  Move(const Ends& ends, const CopyOptions& options, const Progress& progress)
      : ends_(ends), options_(options), progress_(progress) {}

  Result<CopyReport> run() {
    auto counted = count();
    if (!counted) return forward(counted);
    auto copied = copy();
    if (!copied) return forward(copied);
    if (!*copied) return stopped();
    Comparison comparison(copy::FactStream(ends_.from.transfer(), ends_.departing), ends_.to,
                          ends_.arriving);
    const std::uint64_t before = step_.done;
    auto compared = comparison.run([&](std::uint64_t seen) { return go_on(before + seen); });
    if (!compared) return forward(compared);
    if (!*compared) return stopped();
    if (!options_.with_damage && !comparison.damaged().empty()) {
      const SessionId& session = *comparison.damaged().begin();
      return fail(ErrorCode::corrupted,
                  fmt::format("session {} is damaged: check the source", session.text()),
                  session.text());
    }
    if (auto ended = end(); !ended) return forward(ended);
    CopyReport report = comparison.report();
    report.blobs = blobs_.size();
    step_.total = step_.done;
    if (progress_) static_cast<void>(progress_(step_));
    return report;
  }

 private:
  [[nodiscard]] static CopyReport stopped() {
    CopyReport report;
    report.is_complete = false;
    return report;
  }

  // Each fact is copied, then compared.
  Result<void> count() {
    copy::FactStream facts(ends_.from.transfer(), ends_.departing);
    while (true) {
      auto fact = facts.next();
      if (!fact) return forward(fact);
      const auto* session = *fact == nullptr ? nullptr : std::get_if<SessionFact>(*fact);
      if (session == nullptr) return {};
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
    FactCursor next = ends_.next;
    while (!next.is_end()) {
      if (!go_on(step_.done)) return false;
      auto slice = ends_.from.transfer().read(ends_.departing, next);
      if (!slice) return forward(slice);
      if (auto put = put_blobs(*slice); !put) return forward(put);
      if (auto taken = ends_.to.transfer().take(ends_.arriving, *slice); !taken) {
        return forward(taken);
      }
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

  Result<void> end() {
    if (auto synced = ends_.to.sync(); !synced) return synced;
    auto gone = ends_.from.transfer().end(ends_.departing, MoveEnd::moved);
    if (!gone) return gone;
    return ends_.to.transfer().end(ends_.arriving, MoveEnd::moved);
  }

  const Ends& ends_;
  const CopyOptions& options_;
  const Progress& progress_;
  Step step_;
  std::set<Digest> blobs_;
};

CopyReport sum(const CopyReport& a, const CopyReport& b) {
  return {.sessions = a.sessions + b.sessions,
          .entries = a.entries + b.entries,
          .commits = a.commits + b.commits,
          .calls = a.calls + b.calls,
          .messages = a.messages + b.messages,
          .claims = std::max(a.claims, b.claims),
          .blobs = a.blobs + b.blobs,
          .damaged = a.damaged + b.damaged,
          .is_complete = a.is_complete && b.is_complete};
}

}  // namespace

Result<CopyReport> copy_store(Store& from, Store& to, const CopyOptions& options,
                              const Progress& progress) {
  Mover mover(from, to);
  if (auto apart = mover.check_apart(); !apart) return forward(apart);
  CopyReport report;
  // The move that was cut off, if any, then the one that is asked for.
  for (bool is_asked_for = false; !is_asked_for && report.is_complete;) {
    auto standing = mover.look();
    if (!standing) return forward(standing);
    if (standing->is_only_to_land()) {
      if (auto landed = mover.land(*standing); !landed) return forward(landed);
      continue;
    }
    if (standing->is_arriving() && !standing->is_open_in_both()) {
      if (auto gone = mover.throw_away(standing->arrival.ticket); !gone) return forward(gone);
    }
    is_asked_for = standing->departure.open == 0;
    CopyOptions asked = options;
    if (is_asked_for && options.sessions.empty()) {
      if (auto all = plan_copy(from, options); !all) return forward(all);
    }
    if (is_asked_for && options.with_relatives) {
      asked.sessions = copy::with_relatives(from, std::move(asked.sessions));
    }
    auto ends = mover.open(asked);
    if (!ends) return forward(ends);
    auto moved = rules::followed(
        progress, [&](const Progress& told) { return Move(*ends, options, told).run(); });
    if (!moved && is_final(moved.error().code)) {
      // Should that fail too, it can be done again; the first error is the one to know.
      static_cast<void>(abandon_copy(from, to));
    }
    if (!moved) return moved;
    report = sum(report, *moved);
  }
  return report;
}

Result<void> abandon_copy(Store& from, Store& to) {
  Mover mover(from, to);
  auto standing = mover.look();
  if (!standing) return forward(standing);
  if (standing->is_only_to_land()) {
    return fail(ErrorCode::conflict,
                "the sessions are the target's already: copy again, and they can run there");
  }
  if (standing->departure.open != 0) {
    auto abandoned = mover.abandon(standing->departure.open);
    if (!abandoned) return abandoned;
  }
  return standing->is_arriving() ? mover.throw_away(standing->arrival.ticket) : Result<void>();
}

}  // namespace perdure
