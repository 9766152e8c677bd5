// Sessions over SQLite. A list takes from SQL what it is sorted by, and then looks at
// one row at a time: what the query says about it is decided in C++ (rules/match.hpp).

#include "perdure/store/sessions.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/log.hpp"
#include "rules/chain.hpp"
#include "rules/checks.hpp"
#include "rules/queries.hpp"
#include "rules/stored_rows.hpp"
#include "sqlite/engine/commit.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/line.hpp"
#include "sqlite/engine/roles.hpp"
#include "sqlite/engine/rows.hpp"
#include "sqlite/engine/workers.hpp"

namespace perdure::sqlite {
namespace {

std::optional<SessionSummary> find(Connection& db, const Workers& workers, std::int64_t number) {
  const auto read = [&](const std::string& select) -> std::optional<SessionSummary> {
    Rows rows = db.query(sql(select, "WHERE s.num = ?"), number);
    if (!rows.next()) return std::nullopt;
    return read_session(rows, workers);
  };
  if (auto found = unless_damaged([&] { return read(std::string(select_session)); })) return *found;
  // Its owner may be what cannot be read; then it is shown without one.
  return read(sql(select_session_columns, "FROM session s "));
}

// Nothing if the row cannot be read: it must not hide the others. If one that was met in a list is
// not there, or is nobody's, the page it was on is damaged.
std::optional<SessionSummary> find_readable(Connection& db, const Workers& workers,
                                            std::int64_t number) {
  auto session = unless_damaged([&] { return find(db, workers, number); }).value_or(std::nullopt);
  if (session && session->id.text().empty()) session.reset();
  return session;
}

std::vector<SessionSummary> all_readable(Connection& db, const Workers& workers) {
  std::vector<SessionSummary> sessions;
  for (const std::int64_t number : readable_sessions(db)) {
    if (auto session = find_readable(db, workers, number)) sessions.push_back(*std::move(session));
  }
  return sessions;
}

Result<SessionSummary> require(Connection& db, const Workers& workers, const SessionId& id) {
  auto number = require_session(db, id);
  if (!number) return forward(number);
  auto session = find(db, workers, *number);
  // The index of ids and the rows are two trees of the file, and each can be damaged.
  if (!session || session->id != id) {
    throw SqliteError(SQLITE_CORRUPT, fmt::format("the row of session {} is missing", id.text()));
  }
  return *std::move(session);
}

/// Where a session comes in a list.
struct Listed {
  rules::Mark at;
  std::int64_t number = 0;

  [[nodiscard]] auto order() const { return std::tie(at.key, at.id); }
};

std::vector<Listed> read_listed(Rows rows, SessionSort sort) {
  std::vector<Listed> found;
  while (rows.next()) {
    Listed listed{.at = {.key = rows.integer(1), .id = rows.string(2)}, .number = rows.integer(0)};
    if (sort == SessionSort::title) listed.at.key = rows.string(1);
    found.push_back(std::move(listed));
  }
  return found;
}

// In no order. `is_damaged`: some of them cannot be read.
std::vector<Listed> candidates(Connection& db, const SessionQuery& query, bool& is_damaged) {
  const std::string select =
      fmt::format("SELECT num, {}, id FROM session ", rules::sort_column(query.sort));
  const std::string& prefix = query.id_prefix;
  auto all = unless_damaged([&] {
    return read_listed(prefix.empty() ? db.query(select)
                                      : db.query(sql(select, "WHERE id BETWEEN ? AND ?"), prefix,
                                                 rules::last_id_with(prefix)),
                       query.sort);
  });
  if (all) return *std::move(all);
  is_damaged = true;
  std::vector<Listed> found;
  for (const std::int64_t number : readable_sessions(db)) {
    auto one = unless_damaged(
        [&] { return read_listed(db.query(sql(select, "WHERE num = ?"), number), query.sort); });
    if (one) std::ranges::move(*one, std::back_inserter(found));
  }
  return found;
}

// Those behind the mark, in the query's order.
void arrange(std::vector<Listed>& found, const SessionQuery& query,
             const std::optional<rules::Mark>& mark) {
  const auto comes_first = [&](const Listed& one, const Listed& other) {
    return query.descending ? other.order() < one.order() : one.order() < other.order();
  };
  if (mark) {
    const Listed from{.at = *mark};
    std::erase_if(found, [&](const Listed& listed) { return !comes_first(from, listed); });
  }
  std::ranges::sort(found, comes_first);
}

std::vector<SessionSummary> runnable(Connection& db, const Workers& workers, Timestamp now) {
  // Both halves repeat the condition of the index on runnable sessions, so that it is used.
  auto found = unless_damaged([&] {
    Rows rows = db.query(
        sql(select_session,
            "WHERE s.num IN (SELECT num FROM session WHERE status IN ('active', 'waiting') AND "
            "status = 'active' UNION ALL SELECT num FROM session WHERE status IN ('active', "
            "'waiting') AND status = 'waiting' AND wake_at <= ?)"),
        now);
    std::vector<SessionSummary> sessions;
    while (rows.next()) sessions.push_back(read_session(rows, workers));
    return sessions;
  });
  return found ? *std::move(found) : all_readable(db, workers);
}

}  // namespace

Result<void> insert_session(Connection& db, const NewSession& session, Timestamp now) {
  if (find_session(db, session.id) || is_arriving(db, session.id)) {
    return fail(ErrorCode::already_exists,
                fmt::format("session {} exists already", session.id.text()), session.id.text());
  }
  std::optional<Place> place;
  if (session.origin) {
    auto parent = require_here(db, session.origin->session);
    if (!parent) return forward(parent);
    auto resolved = resolve(db, *parent, session.origin->at);
    if (!resolved) return forward(resolved);
    place = *resolved;
  }
  const bool fork = session.origin && session.origin->lineage == Lineage::fork;
  const Position head = fork ? place->position : 0;
  const Tally tally = fork ? tally_at(db, *place) : Tally{};
  std::optional<std::string> parent;
  std::optional<Position> parent_position;
  std::optional<std::string_view> lineage;
  if (session.origin) {
    parent = session.origin->session.text();
    parent_position = place->position;
    lineage = fork ? "fork" : "child";
  }
  const std::int64_t number = next_number(db, "sessions");
  const SegmentId segment =
      open_segment(db, number, head + 1, fork ? place : std::optional<Place>{});
  db.run(
      "INSERT INTO session (num, id, created_at, updated_at, status, wait_reason, wake_at, title, "
      "opening, tags, metadata, parent, parent_position, lineage, segment, head, next, version, "
      "commits, revision, chain, turns, steps, tokens_in, tokens_out, cost_micros, attention, "
      "fence) VALUES (?, ?, ?, ?, ?, ?, ?, '', '', '[]', '{}', ?, ?, ?, ?, ?, ?, 0, 0, 1, ?, ?, "
      "?, ?, ?, ?, 0, 0)",
      number, session.id.text(), now, now, to_string(session.status), session.wait_reason,
      session.wake_at, parent, parent_position, lineage, segment, head, head + 1,
      rules::chain_start(session.id), tally.turns, tally.steps, tally.tokens_in, tally.tokens_out,
      tally.cost_micros);
  update_annotation(db, number, session.annotation);
  return {};
}

void update_annotation(Connection& db, std::int64_t session, const Annotation& annotation) {
  std::optional<std::string> tags;
  if (annotation.tags) tags = tags_text(*annotation.tags);
  db.run(
      "UPDATE session SET title = coalesce(?, title), opening = coalesce(?, opening), "
      "tags = coalesce(?, tags), metadata = coalesce(?, metadata) WHERE num = ?",
      annotation.title, annotation.opening, tags, annotation.metadata, session);
}

Result<SessionSummary> SqliteRoles::create(const NewSession& session) {
  if (auto checked = rules::check(session); !checked) return forward(checked);
  return access_.writer.write([&](Connection& db) -> Result<SessionSummary> {
    if (auto made = insert_session(db, session, access_.clock.now()); !made) return forward(made);
    return require(db, access_.workers, session.id);
  });
}

Result<SessionSummary> SqliteRoles::read(const SessionId& id) {
  return access_.readers.read([&](Connection& db) { return require(db, access_.workers, id); });
}

Result<SessionPage> SqliteRoles::list(const SessionQuery& query) {
  if (auto checked = rules::check(query); !checked) return forward(checked);
  std::optional<rules::Mark> mark;
  if (!query.cursor.empty()) {
    auto read = rules::from_cursor(query);
    if (!read) return forward(read);
    mark = *std::move(read);
  }
  return access_.readers.read([&](Connection& db) -> Result<SessionPage> {
    SessionPage page;
    auto found = candidates(db, query, page.is_damaged);
    arrange(found, query, mark);
    for (const Listed& listed : found) {
      auto session = find_readable(db, access_.workers, listed.number);
      if (!session) page.is_damaged = true;
      if (!session || !rules::matches(query, *session)) continue;
      if (page.sessions.size() == query.limit) {
        page.next = rules::to_cursor(query, rules::mark_of(page.sessions.back(), query.sort));
        break;
      }
      page.sessions.push_back(*std::move(session));
    }
    return page;
  });
}

Result<std::vector<SessionSummary>> SqliteRoles::due(std::size_t limit) {
  if (auto checked = rules::check_limit(limit); !checked) return forward(checked);
  return access_.readers.read([&](Connection& db) -> Result<std::vector<SessionSummary>> {
    const Timestamp now = access_.clock.now();
    using Since = std::pair<Timestamp, SessionSummary>;
    std::vector<Since> waiting;
    for (SessionSummary& session : runnable(db, access_.workers, now)) {
      if (auto since = rules::due_since(session, now))
        waiting.emplace_back(*since, std::move(session));
    }
    std::ranges::sort(waiting, {}, [](const Since& s) { return std::pair(s.first, s.second.id); });
    std::vector<SessionSummary> sessions;
    for (auto& entry : waiting) {
      if (sessions.size() == limit) break;
      sessions.push_back(std::move(entry.second));
    }
    return sessions;
  });
}

Result<SessionSummary> SqliteRoles::annotate(const SessionId& id, const Annotation& part) {
  if (auto checked = rules::check(part); !checked) return forward(checked);
  return access_.writer.write([&](Connection& db) -> Result<SessionSummary> {
    auto number = require_here(db, id);
    if (!number) return forward(number);
    update_annotation(db, *number, part);
    db.run("UPDATE session SET updated_at = ?, revision = revision + 1 WHERE num = ?",
           access_.clock.now(), *number);
    return require(db, access_.workers, id);
  });
}

}  // namespace perdure::sqlite
