// Rows of one session, each looked at by itself: what can be said without its history.

#include "sqlite/check_facts.hpp"

#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <vector>

#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/store/body.hpp"
#include "perdure/store/check.hpp"
#include "perdure/store/entry.hpp"
#include "perdure/store/limits.hpp"
#include "perdure/store/sessions.hpp"
#include "sqlite/check_run.hpp"
#include "sqlite/connection.hpp"
#include "sqlite/line.hpp"
#include "sqlite/rows.hpp"
#include "sqlite/scan.hpp"

namespace perdure::sqlite {
namespace {

struct Words {
  std::string status;
  std::string tags;
  std::string metadata;
  std::string lineage;
  bool has_parent = false;
};

bool is_object(const std::string& text) {
  const auto parsed = parse_json(text);
  return parsed && parsed->as_object() != nullptr;
}

bool is_array(const std::string& text) {
  const auto parsed = parse_json(text);
  return parsed && parsed->as_array() != nullptr;
}

std::string find_bad_word(const Words& words) {
  if (!status_from(words.status)) return fmt::format("its status is '{}'", words.status);
  if (!is_array(words.tags)) return "its tags are not a list";
  if (!is_object(words.metadata)) return "its metadata is not a JSON object";
  const bool is_lineage = words.lineage == "fork" || words.lineage == "child";
  if (is_lineage != words.has_parent) return "it is half a fork or child";
  return {};
}

std::string find_bad_segment(Connection& db, const Part& part, const Part* before) {
  if (before != nullptr && part.first < before->first) return "begins before the one before it";
  if (!part.parent) {
    if (part.first == 1 && part.parent_position == 0) return {};
    return "has no parent and does not begin at position 1";
  }
  if (*part.parent >= part.segment) return "is older than its parent";
  if (part.parent_position >= part.first) return "begins before the point it goes on from";
  if (!db.query("SELECT 1 FROM segment WHERE num = ?", *part.parent).next()) {
    return fmt::format("goes on from segment {}, which is not there", *part.parent);
  }
  return {};
}

bool is_possible(const Tally& tally) {
  for (const std::int64_t part :
       {tally.turns, tally.steps, tally.tokens_in, tally.tokens_out, tally.cost_micros}) {
    if (part > tally_max || part < -tally_max) return false;
  }
  return true;
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
    if (rows.integer(5) != 0 || !is_possible(added)) return std::nullopt;
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

std::optional<Summary> check_summary_row(CheckRun& run, std::int64_t number) {
  Rows rows = run.db.query(
      "SELECT id, segment, head, next, version, commits, chain, turns, steps, tokens_in, "
      "tokens_out, cost_micros, attention, status, tags, metadata, lineage, parent, owner, "
      "(SELECT 1 FROM worker w WHERE w.num = session.owner) FROM session WHERE num = ?",
      number);
  if (!rows.next()) return std::nullopt;
  Summary session{.number = number,
                  .id = stored_id<SessionId>(rows.text(0)),
                  .segment = rows.number(1),
                  .head = rows.number(2),
                  .next = rows.number(3),
                  .version = rows.number(4),
                  .commits = rows.number(5),
                  .chain = rows.digest(6),
                  .tally = read_tally(rows, 7),
                  .attention = rows.integer(12)};
  const auto broken = find_bad_word({.status = rows.string(13),
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

std::vector<Part> check_segments(CheckRun& run, const Summary& session) {
  std::vector<Part> parts;
  Rows rows = run.db.query(sql(select_segment, "WHERE session = ? ORDER BY num"), session.number);
  while (rows.next()) {
    const Part part = read_segment(rows);
    const auto broken = find_bad_segment(run.db, part, parts.empty() ? nullptr : &parts.back());
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

void check_inbox(CheckRun& run, const Summary& session) {
  Rows rows = run.db.query(
      "SELECT id, kind, codec, consumed, body FROM message WHERE session = ? ORDER BY num",
      session.number);
  while (rows.next()) {
    const MessageId id = stored_id<MessageId>(rows.text(0));
    const std::int64_t codec = rows.integer(2);
    const bool is_consumed = rows.integer(3) != 0;
    const auto add = [&](Fault fault, std::string_view what) {
      run.found.add(fault, session.id, fmt::format("message '{}' {}", rows.text(0), what));
    };
    if (id.empty() || rows.text(1).empty() || codec < 0 || codec > 2 ||
        is_consumed != rows.is_null(4)) {
      add(Fault::file, "of the inbox contradicts itself");
      continue;
    }
    const Body body = Body::from_stored(static_cast<Codec>(codec), rows.string(4));
    if (!is_consumed && codec == 0 && !is_json(body.bytes())) {
      add(Fault::chain, "says it is JSON, and is not");
    }
    if (!is_consumed && !is_blob_there(run.db, body)) {
      add(Fault::reference, "names a blob that is not there");
    }
  }
}

}  // namespace perdure::sqlite
