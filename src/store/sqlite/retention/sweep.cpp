// The rule is rules/retention.hpp; here is what it needs to know of each entry, found
// through indexes, so that a slice costs what it looks at and not the history.

#include "sqlite/retention/sweep.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <string>
#include <vector>

#include "perdure/store/log.hpp"
#include "rules/retention.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/line.hpp"
#include "sqlite/engine/rows.hpp"
#include "sqlite/engine/slices.hpp"

namespace perdure::sqlite {
namespace {

struct Candidate {
  Position position = 0;
  std::string channel;
  Fold fold = Fold::append;
  std::uint64_t bytes = 0;
  Tally tally;
  Position replaced_at = rules::never;
};

std::optional<std::int64_t> owner_of(Connection& db, SegmentId segment) {
  Rows rows = db.query("SELECT session FROM segment WHERE num = ?", segment);
  if (!rows.next()) return std::nullopt;
  return rows.integer(0);
}

// The slice's entries. Their bodies are measured, not read.
std::vector<Candidate> read_entries(Connection& db, const Sweep& sweep) {
  Rows rows = db.query(
      "SELECT id, channel, fold, octet_length(body), turns, steps, tokens_in, tokens_out, "
      "cost_micros FROM entry WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?",
      entry_key(sweep.segment, sweep.from), entry_key(sweep.segment, sweep.to), slice_rows);
  std::vector<Candidate> entries;
  std::uint64_t bytes = 0;
  while (bytes < slice_bytes && rows.next()) {
    entries.push_back({.position = rows.number(0) & position_max,
                       .channel = rows.string(1),
                       .fold = rows.integer(2) == 1 ? Fold::replace : Fold::append,
                       .bytes = rows.number(3),
                       .tally = read_tally(rows, 4)});
    bytes += entries.back().bytes;
  }
  return entries;
}

Position next_replace(Connection& db, const Sweep& sweep, const std::string& channel,
                      Position after) {
  Rows rows = db.query(
      "SELECT id FROM entry WHERE channel = ? AND fold = 1 AND id > ? AND id < ? "
      "ORDER BY id LIMIT 1",
      channel, entry_key(sweep.segment, after), entry_key(sweep.segment, position_max));
  return rows.next() ? rows.number(0) & position_max : rules::never;
}

void find_replacements(Connection& db, const Sweep& sweep, std::vector<Candidate>& entries) {
  std::map<std::string, Position> next;
  for (Candidate& entry : entries | std::views::reverse) {
    auto known = next.find(entry.channel);
    if (known == next.end()) {
      const Position later = next_replace(db, sweep, entry.channel, entries.back().position);
      known = next.emplace(entry.channel, later).first;
    }
    entry.replaced_at = known->second;
    if (entry.fold == Fold::replace) known->second = entry.position;
  }
}

void leave_out_seen(Connection& db, const OwnedSegment& owned, std::vector<Candidate>& entries) {
  std::optional<Position> kept = 0;
  std::erase_if(entries, [&](const Candidate& entry) {
    if (kept && *kept < entry.position) kept = next_kept(db, owned, entry.position);
    return rules::is_seen(entry.position, entry.replaced_at, kept);
  });
}

struct Range {
  Position first = 0;
  Position last = 0;
};

/// What calls need of a stretch of a segment. It starts from the few calls that can name an
/// entry there, never from the forks that share it: those may be thousands.
class Needs {
 public:
  Needs(Connection& db, const OwnedSegment& owned, Range range)
      : db_(db), owned_(owned), range_(range) {
    add_for_open_calls();
    add_results_of_owner();
    add_results_of_forks();
  }

  [[nodiscard]] bool contains(Position position) const { return needed_.contains(position); }

 private:
  // As many as there are tools running in the whole store.
  void add_for_open_calls() {
    Rows rows = db_.query(
        "SELECT session, position, args, result FROM call "
        "WHERE state IN ('intended', 'dispatched', 'in_doubt')");
    while (rows.next()) {
      for (const int column : {1, 2, 3}) {
        if (!rows.is_null(column)) add(rows.integer(0), rows.number(column));
      }
    }
  }

  void add_results_of_owner() {
    Rows rows = db_.query(
        "SELECT result FROM call WHERE session = ? AND result BETWEEN ? AND ? AND key IS NOT NULL "
        "AND result IS NOT NULL AND state IN ('succeeded', 'abandoned')",
        owned_.session, range_.first, range_.last);
    while (rows.next()) needed_.insert(rows.number(0));
  }

  // The intent is an entry of the fork's own; a result that the fork shares was there before it.
  void add_results_of_forks() {
    Rows rows = db_.query(
        "SELECT session, result FROM call WHERE result BETWEEN ? AND ? AND result < position "
        "AND key IS NOT NULL AND state IN ('succeeded', 'abandoned')",
        range_.first, range_.last);
    while (rows.next()) add(rows.integer(0), rows.number(1));
  }

  void add(std::int64_t session, Position position) {
    if (position < range_.first || position > range_.last) return;
    if (session != owned_.session) {
      const auto place = find_entry(db_, session, position);
      if (!place || place->segment != owned_.segment) return;
    }
    needed_.insert(position);
  }

  Connection& db_;
  const OwnedSegment owned_;
  const Range range_;
  std::set<Position> needed_;
};

void leave_out_needed(Connection& db, const OwnedSegment& owned, std::vector<Candidate>& entries) {
  if (entries.empty()) return;
  const Needs needs(db, owned, {entries.front().position, entries.back().position});
  std::erase_if(entries, [&](const Candidate& entry) { return needs.contains(entry.position); });
}

// Rows neither overlap nor touch, so those that touch a shadow are neighbours.
rules::Shadow take_touching(Connection& db, SegmentId segment, rules::Shadow shadow) {
  std::vector<Position> taken;
  {
    Rows rows = db.query(
        "SELECT first, upto, entries, turns, steps, tokens_in, tokens_out, cost_micros FROM pruned "
        "WHERE segment = ? AND first <= ? ORDER BY first DESC",
        segment, shadow.upto);
    while (rows.next()) {
      const rules::Shadow there{.first = rows.number(0),
                                .upto = rows.number(1),
                                .entries = rows.number(2),
                                .tally = read_tally(rows, 3)};
      if (!rules::touch(there, shadow)) break;
      shadow = rules::join(there, shadow);
      taken.push_back(there.first);
    }
  }
  for (const Position first : taken) {
    db.run("DELETE FROM pruned WHERE segment = ? AND first = ?", segment, first);
  }
  return shadow;
}

void add_shadow(Connection& db, SegmentId segment, const rules::Shadow& shadow) {
  const rules::Shadow joined = take_touching(db, segment, shadow);
  const Tally& tally = joined.tally;
  db.run("INSERT INTO pruned VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", segment, joined.first,
         joined.upto, joined.entries, tally.turns, tally.steps, tally.tokens_in, tally.tokens_out,
         tally.cost_micros);
}

void drop(Connection& db, Sweep& sweep, const std::vector<Candidate>& entries) {
  std::optional<rules::Shadow> run;
  for (const Candidate& entry : entries) {
    db.run("DELETE FROM entry WHERE id = ?", entry_key(sweep.segment, entry.position));
    ++sweep.entries;
    sweep.bytes += entry.bytes;
    const rules::Shadow shadow{
        .first = entry.position, .upto = entry.replaced_at, .entries = 1, .tally = entry.tally};
    if (run && !rules::touch(*run, shadow)) {
      add_shadow(db, sweep.segment, *run);
      run.reset();
    }
    run = run ? rules::join(*run, shadow) : shadow;
  }
  if (run) add_shadow(db, sweep.segment, *run);
}

}  // namespace

bool sweep_slice(Connection& db, Sweep& sweep) {
  const auto session = owner_of(db, sweep.segment);
  if (!session || sweep.from > sweep.to) return false;
  std::vector<Candidate> entries = read_entries(db, sweep);
  if (entries.empty()) return false;
  find_replacements(db, sweep, entries);
  sweep.from = entries.back().position + 1;
  const OwnedSegment owned{.segment = sweep.segment, .session = *session};
  leave_out_seen(db, owned, entries);
  leave_out_needed(db, owned, entries);
  drop(db, sweep, entries);
  return sweep.from <= sweep.to;
}

}  // namespace perdure::sqlite
