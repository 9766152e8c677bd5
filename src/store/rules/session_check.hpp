// The check of sessions, whichever backend has them: what was found, and one session after the other.

#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/upkeep.hpp"
#include "rules/stored_rows.hpp"
#include "rules/stored_session.hpp"
#include "store/api/lookup.hpp"

namespace perdure::rules {

// What a check has found so far.

class Findings {
 public:
  CheckReport report{};

  void add(Damage damage);
  /// A finding that has no session or no position leaves them out.
  void add(Fault fault, const std::optional<SessionId>& session, std::string what);

  /// The report, its findings in order.
  [[nodiscard]] CheckReport finish();
};

/// "position 5", "positions 5 to 9".
[[nodiscard]] std::string positions_text(Position first, Position last);

// What the parts of one check share, whichever backend is checked.
//
// A part that meets rows it cannot read has found something; the others continue.

class CheckRun {
 public:
  /// `progress` must outlive it.
  explicit CheckRun(const Progress& progress) : progress_(progress) {}
  virtual ~CheckRun() = default;
  CheckRun(const CheckRun&) = delete;
  CheckRun& operator=(const CheckRun&) = delete;

  Findings found{};

  /// Runs `work`; damage that ends it is a finding: `what` could not be read.
  virtual void guard(const std::optional<SessionId>& session, std::string_view what,
                     const std::function<void()>& work) = 0;

  [[nodiscard]] CheckReport& report() { return found.report; }
  void set_total(std::uint64_t total) { step_.total = total; }
  void advance() { ++step_.done; }
  /// Tells how far it has come. False: stop.
  [[nodiscard]] bool go_on() {
    if (report().is_complete && progress_ && !progress_(step_)) report().is_complete = false;
    return report().is_complete;
  }

 private:
  const Progress& progress_;
  Step step_{};
};

// One session, and what forks share of a removed one: their rows against their own log.

// What forks share of a session that was removed.
//
// Its receipts went with it, and with them its hash chain: each entry is compared with its own hash,
// and each position that a fork's line needs must be there, or have been pruned.

struct SharedPart {
  Stretch stretch{};  ///< Up to the last position that a fork continues from.
  std::optional<SessionId>
      heir{};  ///< A session that continues from it; empty: only removed ones do.
};

/// `rows` are those of the removed session.
void check_shared(CheckRun& run, StoredSession& rows, const SharedPart& part);

/// Everything that follows from the session's commits and entries. `segments` are its own, by
/// number.
void check_history(CheckRun& run, StoredSession& rows, const StoredSummary& session,
                   const std::vector<Part>& segments);

/// What a session's row says by itself.
void check_row(CheckRun& run, const StoredSummary& session, const SummaryWords& words,
               bool is_owner_unknown);

/// A segment by itself, and beside the ones before it, which it joins.
void check_segment(CheckRun& run, const SessionId& session, std::vector<Part>& before,
                   const Part& part, bool is_parent_there);

/// id, segment, head, next, version, commits, chain, a tally, attention, status, tags, metadata,
/// lineage, parent, owner, and the owner as an enrolled worker.
template <class Rows>
[[nodiscard]] StoredSummary check_summary_row(CheckRun& run, std::int64_t number,
                                              const Rows& rows) {
  StoredSummary session{.number = number,
                        .id = stored_id<SessionId>(rows.text(0)),
                        .segment = rows.number(1),
                        .head = rows.number(2),
                        .next = rows.number(3),
                        .version = rows.number(4),
                        .commits = rows.number(5),
                        .chain = rows.digest(6),
                        .tally = read_tally(rows, 7),
                        .attention = rows.integer(12)};
  check_row(run, session,
            {.status = rows.string(13),
             .tags = rows.string(14),
             .metadata = rows.string(15),
             .lineage = rows.string(16),
             .has_parent = !rows.is_null(17)},
            !rows.is_null(18) && rows.is_null(19));
  return session;
}

/// num, session, first, parent, parent_position, and the parent as a segment that is there. The
/// session's own, by number.
template <class Rows>
[[nodiscard]] std::vector<Part> check_segments(CheckRun& run, const SessionId& session, Rows rows) {
  std::vector<Part> parts;
  while (rows.next()) {
    check_segment(run, session, parts,
                  {.segment = rows.number(0),
                   .session = rows.integer(1),
                   .first = rows.number(2),
                   .last = 0,
                   .parent = optional_position(rows, 3),
                   .parent_position = rows.number(4)},
                  !rows.is_null(5));
  }
  if (parts.empty()) run.found.add(Fault::reference, session, "the session has no segment");
  return parts;
}

/// As read_call reads them, then segment. What the log has of the call is the backend's to say.
template <class Rows>
[[nodiscard]] StoredCall read_stored_call(const Rows& rows) {
  StoredCall stored;
  stored.call = read_call(rows);
  stored.segment = rows.number(19);
  stored.has_known_words = effect_class_from(rows.text(6)) && call_state_from(rows.text(8)) &&
                           (rows.is_null(7) || rows.text(7).size() == sizeof(Digest));
  return stored;
}

/// session, num, first, the last position that a fork continues from, the id of an heir. By
/// the number of the removed session.
template <class Rows>
[[nodiscard]] std::vector<std::pair<std::int64_t, SharedPart>> read_shared_parts(Rows rows) {
  std::vector<std::pair<std::int64_t, SharedPart>> parts;
  while (rows.next()) {
    const Position last = std::min(rows.number(3), position_max);
    SharedPart part{.stretch = {rows.number(1), rows.number(2), last}};
    if (!rows.is_null(4)) part.heir = stored_id<SessionId>(rows.text(4));
    if (part.stretch.first <= part.stretch.last) parts.emplace_back(rows.integer(0), part);
  }
  return parts;
}

/// One message of its inbox, by itself.
void check_message(CheckRun& run, StoredSession& rows, const SessionId& session,
                   const StoredMessage& message);

}  // namespace perdure::rules
