// One session: its commits in order, each with the entries it put there, against the
// hash chain; then everything that follows from them against what its row says.
//
// Positions rise with the commits, whichever segment takes them, so going through the
// commits goes through all entries once. What is unknown after damage (a chain value,
// a total) is taken from the next place that states it, so that one damage is one
// finding and not a finding for every commit after it.

#include <cstdint>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/check.hpp"
#include "perdure/store/entry.hpp"
#include "perdure/store/limits.hpp"
#include "rules/chain.hpp"
#include "rules/findings.hpp"
#include "rules/soundness.hpp"
#include "sqlite/check_facts.hpp"
#include "sqlite/check_run.hpp"
#include "sqlite/connection.hpp"
#include "sqlite/line.hpp"
#include "sqlite/rows.hpp"
#include "sqlite/scan.hpp"

namespace perdure::sqlite {
namespace {

struct Commit {
  BatchId batch{};
  std::uint64_t number = 0;
  SegmentId segment = 0;
  Position first = 0;
  std::uint64_t count = 0;
  Position head = 0;
  std::optional<Version> version{};
  Timestamp at{};
  Digest chain{};

  [[nodiscard]] Position last() const { return first + count - 1; }
};

Commit read_commit(const Rows& rows) {
  Commit commit{.batch = stored_id<BatchId>(rows.text(0)),
                .number = rows.number(1),
                .segment = rows.number(2),
                .first = rows.number(3),
                .count = rows.number(4),
                .head = rows.number(5),
                .version = {},
                .at = rows.time(7),
                .chain = rows.digest(8)};
  if (!rows.is_null(6)) commit.version = rows.number(6);
  return commit;
}

class SessionCheck {
 public:
  SessionCheck(CheckRun& run, const Summary& session, const std::vector<Part>& segments)
      : run_(run), db_(run.db), session_(session), chain_(rules::chain_start(session.id)) {
    for (const Part& part : segments) segments_.emplace(part.segment, part);
    if (segments.empty()) return;
    const Part& root = segments.front();
    at_.segment = root.segment;
    at_.position = root.parent_position;
    next_ = root.first;
    tally_ = tally_of_segment(root);
  }

  void check() {
    run_.guard(session_.id, "the session's receipts", [&] { check_commits(); });
    run_.guard(session_.id, "the session's entries", [&] { check_strays(); });
    run_.guard(session_.id, "the session's checkpoints", [&] { check_checkpoint_count(); });
    run_.guard(session_.id, "the session's calls", [&] { check_call_count(); });
    run_.guard(session_.id, "the session's row", [&] { check_summary(); });
  }

 private:
  void check_commits() {
    Rows rows = db_.query(
        "SELECT batch, number, segment, first, count, head, version, at, chain FROM receipt "
        "WHERE session = ? ORDER BY number",
        session_.number);
    while (rows.next()) {
      const Commit commit = read_commit(rows);
      if (commit.number % 256 == 0 && !run_.go_on()) return;
      ++run_.report().commits;
      check_commit(commit);
    }
    receipts_read_ = true;
  }

  void check_commit(const Commit& commit) {
    check_number(commit);
    if (!check_place(commit)) return forget_all(commit);
    if (commit.segment != at_.segment) enter(segments_.at(commit.segment));
    check_first(commit);
    const auto seal = read_entries(commit);
    if (seal && is_chain_known_ &&
        rules::chain_next(chain_, *seal, at_.position, commit.first) != commit.chain) {
      add(Fault::chain, commit,
          fmt::format("commit {} (batch {}) does not match the hash chain: something of it was "
                      "changed",
                      commit.number, commit.batch.text()));
    }
    chain_ = commit.chain;
    is_chain_known_ = true;
    const Position head = commit.count == 0 ? at_.position : commit.last();
    if (commit.head != head) {
      add(Fault::order, commit,
          fmt::format("commit {} says its head is {}, and it is {}", commit.number, commit.head,
                      head));
    }
    at_.position = head;
    next_ = commit.first + commit.count;
    if (commit.version) check_version(commit);
    if (commit.count > 0) {
      calls_ += check_calls(run_, session_,
                            {commit.segment, commit.first, commit.last(), commit.at}, in_doubt_);
    }
  }

  void check_number(const Commit& commit) {
    const std::uint64_t expected = number_ + 1;
    number_ = commit.number;
    if (commit.number == expected) return;
    is_chain_known_ = false;
    is_next_known_ = false;
    tally_.reset();
    run_.found.add(
        Fault::chain, session_.id,
        fmt::format("the receipts of commits {} to {} are missing", expected, commit.number - 1));
  }

  // Whether the receipt can be followed at all.
  bool check_place(const Commit& commit) {
    if (!segments_.contains(commit.segment)) {
      add(Fault::reference, commit,
          fmt::format("commit {} is on segment {}, which the session does not have", commit.number,
                      commit.segment));
      return false;
    }
    if (commit.count > batch_entries_max || commit.first > position_max || commit.first == 0) {
      add(Fault::order, commit,
          fmt::format("commit {} says it has {} entries from position {} on", commit.number,
                      commit.count, commit.first));
      return false;
    }
    return true;
  }

  void forget_all(const Commit& commit) {
    chain_ = commit.chain;
    is_chain_known_ = false;
    is_next_known_ = false;
    tally_.reset();
  }

  void enter(const Part& part) {
    at_ = {part.segment, part.parent_position};
    tally_ = tally_of_segment(part);
  }

  void check_first(const Commit& commit) {
    if (is_next_known_ && commit.first != next_) {
      add(Fault::order, commit,
          fmt::format("commit {} begins at position {}, and should at {}", commit.number,
                      commit.first, next_));
      is_chain_known_ = false;
    }
    is_next_known_ = true;
  }

  // The seal of the commit; empty if not all of its entries are there.
  std::optional<Digest> read_entries(const Commit& commit) {
    rules::StoredSeal seal(commit.batch, commit.at, commit.count);
    bool is_whole = true;
    if (commit.count == 0) return seal.finish();
    scan_entries(db_, {commit.segment, commit.first, commit.last()},
                 {.entry =
                      [&](Entry&& entry) {
                        seal.add(entry);
                        if (!check_entry(entry)) is_whole = false;
                      },
                  .missing =
                      [&](Position first, Position last) {
                        is_whole = false;
                        check_missing({commit.segment, first, last});
                      }});
    if (!is_whole) return std::nullopt;
    return seal.finish();
  }

  // False if the entry is lost: then the chain says nothing of it.
  bool check_entry(const Entry& entry) {
    ++run_.report().entries;
    ++entries_[entry.segment];
    run_.report().bytes += entry.body.bytes().size();
    const Stretch here{entry.segment, entry.position, entry.position};
    if (rules::is_lost(entry)) {
      tally_.reset();
      add(Fault::chain, here, "was lost before a salvage");
      return false;
    }
    if (entry.condition == Condition::damaged) {
      add(Fault::chain, here, "has a body that does not match its hash");
    }
    if (tally_) *tally_ += entry.tally;
    run_.guard(session_.id, "a blob", [&] {
      if (entry.condition == Condition::intact && !is_blob_there(db_, entry.body)) {
        add(Fault::reference, here, "names a blob that is not there");
      }
    });
    return true;
  }

  void check_missing(const Stretch& stretch) {
    run_.guard(session_.id, "what was pruned", [&] {
      for (const Stretch& left : not_pruned(db_, stretch)) {
        add(Fault::order, left, left.first == left.last ? "is missing" : "are missing");
      }
    });
    // Counted anew at the next version: a pruned stretch counts from its end on.
    tally_.reset();
  }

  void check_version(const Commit& commit) {
    if (*commit.version != version_ + 1 && is_next_known_ && version_known_) {
      add(Fault::order, commit,
          fmt::format("version {} was made after version {}", *commit.version, version_));
    }
    version_ = *commit.version;
    version_known_ = true;
    run_.guard(session_.id, fmt::format("version {}", version_), [&] { check_checkpoint(commit); });
  }

  // A version that is not there was pruned: its name is gone without a trace.
  void check_checkpoint(const Commit& commit) {
    Rows rows = db_.query(
        "SELECT segment, position, at, turns, steps, tokens_in, tokens_out, cost_micros, metadata "
        "FROM checkpoint WHERE session = ? AND version = ?",
        session_.number, *commit.version);
    if (!rows.next()) return;
    ++checkpoints_;
    if (rows.number(0) != commit.segment || rows.number(1) != at_.position ||
        rows.time(2) != commit.at) {
      add(Fault::order, commit,
          fmt::format("version {} names position {} of segment {}, and its commit says {} of {}",
                      version_, rows.number(1), rows.number(0), at_.position, commit.segment));
    }
    if (!is_json(rows.text(8))) {
      add(Fault::summary, commit, fmt::format("the metadata of version {} is not JSON", version_));
    }
    if (!tally_) tally_ = count_tally(db_, at_);
    if (tally_ && *tally_ != read_tally(rows, 3)) {
      add(Fault::summary, commit,
          fmt::format("the totals of version {} are not those of its entries", version_));
    }
  }

  // Entries that no commit put there.
  void check_strays() {
    if (!run_.report().is_complete || !receipts_read_) return;
    for (const auto& [segment, part] : segments_) {
      Rows rows = db_.query("SELECT count(*) FROM entry WHERE id BETWEEN ? AND ?",
                            entry_key(segment, 0), entry_key(segment, position_max));
      rows.next();
      if (rows.number(0) <= entries_[segment]) continue;
      run_.found.add(Fault::order, session_.id,
                     fmt::format("segment {} has {} entries, and commits put {} there", segment,
                                 rows.number(0), entries_[segment]));
    }
  }

  void check_checkpoint_count() {
    if (!run_.report().is_complete || !receipts_read_) return;
    check_count("SELECT count(*) FROM checkpoint WHERE session = ?", checkpoints_, Fault::order,
                "versions");
  }

  void check_call_count() {
    if (!run_.report().is_complete || !receipts_read_) return;
    check_count("SELECT count(*) FROM call WHERE session = ?", calls_, Fault::ledger, "calls");
  }

  void check_count(std::string_view query, std::uint64_t counted, Fault fault,
                   std::string_view what) {
    Rows rows = db_.query(query, session_.number);
    rows.next();
    if (rows.number(0) == counted) return;
    run_.found.add(fault, session_.id,
                   fmt::format("the session has {} {}, and its commits made {}", rows.number(0),
                               what, counted));
  }

  void check_summary() {
    if (!run_.report().is_complete || !receipts_read_ || segments_.empty()) return;
    compare("head", session_.head, at_.position);
    compare("next position", session_.next, next_);
    compare("segment", session_.segment, at_.segment);
    compare("number of commits", session_.commits, number_);
    compare("version", session_.version, version_);
    compare("number of calls in doubt", session_.attention, in_doubt_);
    if (session_.chain != chain_) {
      run_.found.add(Fault::summary, session_.id, "the session's row does not end its hash chain");
    }
    if (!tally_) tally_ = count_tally(db_, at_);
    if (tally_ && *tally_ != session_.tally) {
      run_.found.add(Fault::summary, session_.id,
                     "the totals of the session are not those of its entries");
    }
  }

  template <class Number>
  void compare(std::string_view what, Number says, Number is) {
    if (says == is) return;
    run_.found.add(
        Fault::summary, session_.id,
        fmt::format("the session's row says its {} is {}, and it is {}", what, says, is));
  }

  std::optional<Tally> tally_of_segment(const Part& part) {
    if (!part.parent) return Tally{};
    std::optional<Tally> tally;
    run_.guard(session_.id, fmt::format("the line before segment {}", part.segment),
               [&] { tally = count_tally(db_, {*part.parent, part.parent_position}); });
    return tally;
  }

  void add(Fault fault, const Commit& commit, std::string what) {
    run_.found.add({.fault = fault,
                    .session = session_.id,
                    .first = commit.first,
                    .last = commit.count == 0 ? commit.first : commit.last(),
                    .what = std::move(what)});
  }

  void add(Fault fault, const Stretch& stretch, std::string_view what) {
    run_.found.add({.fault = fault,
                    .session = session_.id,
                    .first = stretch.first,
                    .last = stretch.last,
                    .what = fmt::format("{} of session {} {}",
                                        rules::positions_text(stretch.first, stretch.last),
                                        session_.id.text(), what)});
  }

  CheckRun& run_;
  Connection& db_;
  const Summary& session_;
  std::map<SegmentId, Part> segments_;
  std::map<SegmentId, std::uint64_t> entries_;  // Seen, by segment.

  // What the commits so far lead to. No totals: they have to be counted.
  Place at_{};
  Position next_ = 1;
  bool is_next_known_ = true;
  Digest chain_;
  bool is_chain_known_ = true;
  std::optional<Tally> tally_;
  std::uint64_t number_ = 0;
  Version version_ = 0;
  bool version_known_ = true;
  std::uint64_t checkpoints_ = 0;
  std::uint64_t calls_ = 0;
  std::int64_t in_doubt_ = 0;
  bool receipts_read_ = false;
};

}  // namespace

void check_session(CheckRun& run, std::int64_t number) {
  const auto session = check_summary_row(run, number);
  if (!session) return;
  ++run.report().sessions;
  std::vector<Part> segments;
  run.guard(session->id, "the session's segments",
            [&] { segments = check_segments(run, *session); });
  SessionCheck(run, *session, segments).check();
  run.guard(session->id, "the session's inbox", [&] { check_inbox(run, *session); });
}

}  // namespace perdure::sqlite
