// What only PostgreSQL knows of a session, and then the check that every backend shares.

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "perdure/core/id.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/upkeep.hpp"
#include "postgres/check_run.hpp"
#include "postgres/connection.hpp"
#include "postgres/pages.hpp"
#include "postgres/params.hpp"
#include "postgres/rows.hpp"
#include "postgres/stored_session.hpp"
#include "rules/history.hpp"
#include "rules/session_check.hpp"
#include "rules/shared_check.hpp"
#include "rules/soundness.hpp"
#include "rules/stored_rows.hpp"
#include "rules/stored_session.hpp"

namespace perdure::postgres {
namespace {

void check_row(CheckRun& run, const rules::StoredSummary& session, const Rows& rows) {
  const auto broken = rules::find_bad_word({.status = rows.string(13),
                                            .tags = rows.string(14),
                                            .metadata = rows.string(15),
                                            .lineage = rows.string(16),
                                            .has_parent = !rows.is_null(17)});
  if (!broken.empty()) {
    run.found.add(Fault::summary, session.id, fmt::format("the session's row: {}", broken));
  }
  if (session.id.empty()) {
    run.found.add(Fault::summary, {},
                  fmt::format("session number {} has no proper id", session.number));
  }
  if (!rows.is_null(18) && rows.is_null(19)) {
    run.found.add(Fault::reference, session.id, "the session's owner is not an enrolled worker");
  }
}

std::optional<rules::StoredSummary> check_summary_row(CheckRun& run, std::int64_t number) {
  Rows rows = run.db.query(
      "SELECT s.id, s.segment, s.head, s.next, s.version, s.commits, s.chain, s.turns, s.steps, "
      "s.tokens_in, s.tokens_out, s.cost_micros, s.attention, s.status, s.tags, s.metadata, "
      "s.lineage, s.parent, s.owner, w.num FROM perdure.session s "
      "LEFT JOIN perdure.worker w ON w.num = s.owner WHERE s.num = $1",
      Params::of(number));
  if (!rows.next()) return std::nullopt;
  rules::StoredSummary session{.number = number,
                               .id = rules::stored_id<SessionId>(rows.text(0)),
                               .segment = rows.number(1),
                               .head = rows.number(2),
                               .next = rows.number(3),
                               .version = rows.number(4),
                               .commits = rows.number(5),
                               .chain = rows.digest(6),
                               .tally = rules::read_tally(rows, 7),
                               .attention = rows.integer(12)};
  check_row(run, session, rows);
  return session;
}

std::vector<rules::Part> check_segments(CheckRun& run, const rules::StoredSummary& session) {
  std::vector<rules::Part> parts;
  Rows rows = run.db.query(
      "SELECT g.num, g.session, g.first, g.parent, g.parent_position, p.num FROM perdure.segment g "
      "LEFT JOIN perdure.segment p ON p.num = g.parent WHERE g.session = $1 ORDER BY g.num",
      Params::of(session.number));
  while (rows.next()) {
    const rules::Part part{.segment = rows.number(0),
                           .session = rows.integer(1),
                           .first = rows.number(2),
                           .last = 0,
                           .parent = rules::optional_position(rows, 3),
                           .parent_position = rows.number(4)};
    const auto broken =
        rules::find_bad_segment(part, parts.empty() ? nullptr : &parts.back(), !rows.is_null(5));
    if (!broken.empty()) {
      run.found.add(Fault::reference, session.id,
                    fmt::format("segment {} of the session {}", part.segment, broken));
    }
    parts.push_back(part);
  }
  if (parts.empty()) run.found.add(Fault::reference, session.id, "the session has no segment");
  return parts;
}

void check_inbox(CheckRun& run, rules::StoredSession& session,
                 const rules::StoredSummary& summary) {
  std::string last;
  while (true) {
    Rows rows = run.db.query(
        "SELECT id, kind, codec, consumed, coalesce(convert_to(body, 'UTF8'), bytes) FROM (SELECT "
        "*, sum(size) OVER (ORDER BY id) - size AS before FROM (SELECT *, "
        "coalesce(octet_length(body), octet_length(bytes), 0) AS size FROM perdure.message "
        "WHERE session = $1 AND id > $2 ORDER BY id LIMIT $3) m) e WHERE before < $4 ORDER BY id",
        Params::of(summary.number, last, page_rows, page_bytes));
    if (rows.count() == 0) return;
    while (rows.next()) {
      last = rows.string(0);
      rules::check_message(run, session, summary.id,
                           {.id = last,
                            .kind = rows.string(1),
                            .codec = rows.integer(2),
                            .is_consumed = rows.boolean(3),
                            .has_body = !rows.is_null(4),
                            .bytes = rows.string(4)});
    }
  }
}

// Their sessions are gone, also those that are not all cleared away; what is on its way here is not.
// In order of a session's positions, as its entries are read.
std::vector<std::pair<std::int64_t, rules::SharedPart>> shared_parts(Connection& db) {
  Rows rows = db.query(
      "SELECT g.session, g.num, g.first, (SELECT max(c.parent_position) FROM perdure.segment c "
      "WHERE "
      "c.parent = g.num), (SELECT s.id FROM perdure.segment c JOIN perdure.session s ON s.num = "
      "c.session "
      "WHERE c.parent = g.num ORDER BY s.num LIMIT 1) FROM perdure.segment g "
      "WHERE NOT EXISTS (SELECT FROM perdure.session s WHERE s.num = g.session) "
      "AND NOT EXISTS (SELECT FROM perdure.transit t WHERE t.owner = g.session) "
      "AND EXISTS (SELECT 1 FROM perdure.segment c WHERE c.parent = g.num) ORDER BY g.session, "
      "g.num");
  std::vector<std::pair<std::int64_t, rules::SharedPart>> parts;
  while (rows.next()) {
    const Position last = std::min(rows.number(3), rules::position_max);
    rules::SharedPart part{.stretch = {rows.number(1), rows.number(2), last}};
    if (!rows.is_null(4)) part.heir = rules::stored_id<SessionId>(rows.text(4));
    if (part.stretch.first <= part.stretch.last) parts.emplace_back(rows.integer(0), part);
  }
  return parts;
}

}  // namespace

void check_shared(CheckRun& run) {
  std::vector<std::pair<std::int64_t, rules::SharedPart>> parts;
  run.guard({}, "the list of segments", [&] { parts = shared_parts(run.db); });
  for (const auto& [owner, part] : parts) {
    if (!run.go_on()) return;
    const auto session = stored_session(run.db, owner);
    run.guard(part.heir, fmt::format("segment {}", part.stretch.segment),
              [&] { rules::check_shared(run, *session, part); });
  }
}

void check_session(CheckRun& run, std::int64_t number) {
  std::optional<rules::StoredSummary> summary;
  run.guard({}, fmt::format("session number {}", number),
            [&] { summary = check_summary_row(run, number); });
  if (!summary) return;
  ++run.report().sessions;
  std::vector<rules::Part> segments;
  run.guard(summary->id, "the session's segments",
            [&] { segments = check_segments(run, *summary); });
  const auto session = stored_session(run.db, number);
  rules::check_history(run, *session, *summary, segments);
  run.guard(summary->id, "the session's inbox", [&] { check_inbox(run, *session, *summary); });
}

}  // namespace perdure::postgres
