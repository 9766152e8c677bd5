// Rows of one session, each looked at by itself: what can be said without its history.

#include "sqlite/check_facts.hpp"

#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <vector>

#include "perdure/core/id.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/upkeep.hpp"
#include "rules/soundness.hpp"
#include "rules/stored_session.hpp"
#include "sqlite/check_run.hpp"
#include "sqlite/connection.hpp"
#include "sqlite/line.hpp"
#include "sqlite/rows.hpp"
#include "sqlite/scan.hpp"

namespace perdure::sqlite {
namespace {

bool is_parent_there(Connection& db, const Part& part) {
  return part.parent && db.query("SELECT 1 FROM segment WHERE num = ?", *part.parent).next();
}

// What the part's entries add. Empty if not all of them are there, or one cannot be right.
std::optional<Tally> count_entries(Connection& db, const Part& part, std::uint64_t& entries) {
  Tally tally;
  Rows rows = db.query(
      "SELECT turns, steps, tokens_in, tokens_out, cost_micros, hash = zeroblob(32) FROM entry "
      "WHERE id BETWEEN ? AND ?",
      entry_key(part.segment, part.first), entry_key(part.segment, part.last));
  while (rows.next()) {
    const Tally added = read_tally(rows, 0);
    if (rows.integer(5) != 0 || !rules::is_possible(added)) return std::nullopt;
    tally += added;
    ++entries;
  }
  return tally;
}

Tally count_pruned(Connection& db, const Part& part, std::uint64_t& entries) {
  Tally tally;
  Rows rows = db.query(
      "SELECT turns, steps, tokens_in, tokens_out, cost_micros, entries FROM pruned "
      "WHERE segment = ? AND upto <= ?",
      part.segment, part.last);
  while (rows.next()) {
    tally += read_tally(rows, 0);
    entries += rows.number(5);
  }
  return tally;
}

}  // namespace

std::optional<rules::StoredSummary> check_summary_row(CheckRun& run, std::int64_t number) {
  Rows rows = run.db.query(
      "SELECT id, segment, head, next, version, commits, chain, turns, steps, tokens_in, "
      "tokens_out, cost_micros, attention, status, tags, metadata, lineage, parent, owner, "
      "(SELECT 1 FROM worker w WHERE w.num = session.owner) FROM session WHERE num = ?",
      number);
  if (!rows.next()) return std::nullopt;
  rules::StoredSummary session{.number = number,
                               .id = stored_id<SessionId>(rows.text(0)),
                               .segment = rows.number(1),
                               .head = rows.number(2),
                               .next = rows.number(3),
                               .version = rows.number(4),
                               .commits = rows.number(5),
                               .chain = rows.digest(6),
                               .tally = read_tally(rows, 7),
                               .attention = rows.integer(12)};
  const auto broken = rules::find_bad_word({.status = rows.string(13),
                                            .tags = rows.string(14),
                                            .metadata = rows.string(15),
                                            .lineage = rows.string(16),
                                            .has_parent = !rows.is_null(17)});
  if (!broken.empty()) {
    run.found.add(Fault::summary, session.id, fmt::format("the session's row: {}", broken));
  }
  if (session.id.empty()) {
    run.found.add(Fault::summary, {}, fmt::format("session number {} has no proper id", number));
  }
  if (!rows.is_null(18) && rows.is_null(19)) {
    run.found.add(Fault::reference, session.id, "the session's owner is not an enrolled worker");
  }
  return session;
}

std::vector<Part> check_segments(CheckRun& run, const rules::StoredSummary& session) {
  std::vector<Part> parts;
  Rows rows = run.db.query(sql(select_segment, "WHERE session = ? ORDER BY num"), session.number);
  while (rows.next()) {
    const Part part = read_segment(rows);
    const auto broken = rules::find_bad_segment(part, parts.empty() ? nullptr : &parts.back(),
                                                is_parent_there(run.db, part));
    if (!broken.empty()) {
      run.found.add(Fault::reference, session.id,
                    fmt::format("segment {} of the session {}", part.segment, broken));
    }
    parts.push_back(part);
  }
  if (parts.empty()) run.found.add(Fault::reference, session.id, "the session has no segment");
  return parts;
}

std::optional<Tally> count_tally(Connection& db, Place place) {
  Tally tally;
  for (const Part& part : line_to(db, place)) {
    if (part.last < part.first) continue;
    std::uint64_t entries = 0;
    const auto added = count_entries(db, part, entries);
    if (!added) return std::nullopt;
    tally += *added;
    tally += count_pruned(db, part, entries);
    if (entries != part.last - part.first + 1) return std::nullopt;
  }
  return tally;
}

bool is_accounted_for(Connection& db, Place place) {
  const auto key = entry_key(place.segment, place.position);
  if (db.query("SELECT 1 FROM entry WHERE id = ?", key).next()) return true;
  return not_pruned(db, {place.segment, place.position, place.position}).empty();
}

bool is_blob_there(Connection& db, const Body& body) {
  if (body.codec() != Codec::blob) return true;
  const auto ref = body.blob();
  return ref && db.query("SELECT 1 FROM blob WHERE hash = ? AND size = ?", blob_view(ref->digest),
                         ref->size)
                    .next();
}

}  // namespace perdure::sqlite
