// Sessions and who owns them.

#include "perdure/store/sessions.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
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
#include "rules/moves.hpp"
#include "rules/queries.hpp"
#include "rules/stored_rows.hpp"
#include "sqlite/engine/commit.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/line.hpp"
#include "sqlite/engine/roles.hpp"
#include "sqlite/engine/rows.hpp"
#include "sqlite/engine/workers.hpp"
#include "store/api/lookup.hpp"

namespace perdure::sqlite {

// Sessions over SQLite. A list takes from SQL what it is sorted by, and then looks at
// one row at a time: what the query says about it is decided in C++ (rules/match.hpp).

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
// not there, or has no id, the page it was on is damaged.
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

// Ownership over SQLite: one file, one kernel, so uptime and boot id judge leases.
//
// Renewals need not reach the disk: if the machine dies, so do its workers. Grants
// do, because their fences are shown to the outside; unless the caller never shows them.

namespace {

// What has to be known of a session or a resource before it is granted.
struct Grip {
  Fence fence = 0;
  std::optional<Holder> holder;
  rules::Moved moved;  // Of a session.

  [[nodiscard]] bool is_of(const WorkerId& worker) const {
    return holder && holder->worker == worker;
  }
};

Grip read_grip(const Rows& rows, const Workers& workers) {
  return {.fence = rows.number(6), .holder = read_holder(rows, 0, workers), .moved = {}};
}

std::optional<Grip> find_session_grip(Connection& db, const Workers& workers, const SessionId& id) {
  Rows rows = db.query(
      "SELECT w.num, w.id, w.host, w.pid, w.boot, w.until, s.fence, s.owned_since, s.moved "
      "FROM session s LEFT JOIN worker w ON w.num = s.owner WHERE s.id = ?",
      id.text());
  if (!rows.next()) return std::nullopt;
  Grip grip = read_grip(rows, workers);
  grip.moved = rules::moved_from(rows.text(8));
  return grip;
}

Grip find_resource_grip(Connection& db, const Workers& workers, const std::string& name) {
  Rows rows = db.query(
      "SELECT w.num, w.id, w.host, w.pid, w.boot, w.until, r.fence, r.since "
      "FROM resource r LEFT JOIN worker w ON w.num = r.worker WHERE r.name = ?",
      name);
  return rows.next() ? read_grip(rows, workers) : Grip{};
}

// num, boot, until.
WorkerRow read_worker(const Rows& rows) {
  return {.number = rows.integer(0), .boot = rows.string(1), .until = Uptime(rows.integer(2))};
}

std::unexpected<Error> held(std::string_view what, const Holder& holder) {
  return fail(ErrorCode::lease_held,
              fmt::format("{} is held by worker {} (host {}, pid {}) since {}", what,
                          holder.worker.text(), holder.host, holder.pid, to_iso8601(holder.since)),
              holder.worker.text());
}

// A worker that owns nothing and whose process is gone can never come back.
void forget_the_gone(Connection& db, const Workers& workers) {
  std::vector<std::int64_t> gone;
  {
    Rows rows = db.query(
        "SELECT num, boot, until FROM worker "
        "WHERE num NOT IN (SELECT owner FROM session WHERE owner IS NOT NULL) "
        "AND num NOT IN (SELECT worker FROM resource WHERE worker IS NOT NULL)");
    while (rows.next()) {
      const WorkerRow row = read_worker(rows);
      if (!workers.has_process(row)) gone.push_back(row.number);
    }
  }
  for (const std::int64_t number : gone) db.run("DELETE FROM worker WHERE num = ?", number);
}

// A number that was given before and not kept is given again. The process that took it was killed
// in between, and the kernel may still be about to drop its lock: that number is skipped.
Result<std::int64_t> take_number(Connection& db, Workers& workers) {
  constexpr int numbers_max = 1000;
  for (int i = 0; i < numbers_max; ++i) {
    const std::int64_t number = next_number(db, "workers");
    auto held = workers.hold(number);
    if (!held) return forward(held);
    if (*held) return number;
  }
  return fail(ErrorCode::unavailable,
              "another program locks the file beside the store whose name ends with -lock: find it "
              "(fuser, lsof) and end it");
}

}  // namespace

Result<std::int64_t> require_live_worker(Connection& db, const Workers& workers,
                                         const WorkerId& id) {
  Rows rows = db.query("SELECT num, boot, until FROM worker WHERE id = ?", id.text());
  if (rows.next()) {
    const WorkerRow row = read_worker(rows);
    if (workers.is_alive(row)) return row.number;
  }
  return fail(ErrorCode::lease_lost,
              fmt::format("worker {} is not enrolled, or its lease time has passed", id.text()),
              id.text());
}

// The lock is taken before the row can be seen, so that the worker is not taken for dead.
Result<void> SqliteRoles::enroll(const NewWorker& worker) {
  if (auto checked = rules::check(worker); !checked) return checked;
  std::int64_t number = 0;
  auto enrolled = access_.writer.write(
      [&](Connection& db) -> Result<void> {
        forget_the_gone(db, access_.workers);
        if (db.query("SELECT 1 FROM worker WHERE id = ?", worker.id.text()).next()) {
          return fail(ErrorCode::already_exists,
                      fmt::format("worker {} is enrolled already", worker.id.text()),
                      worker.id.text());
        }
        auto taken = take_number(db, access_.workers);
        if (!taken) return forward(taken);
        number = *taken;
        db.run(
            "INSERT INTO worker (num, id, host, pid, boot, lease_time, until) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            number, worker.id.text(), worker.host, worker.pid, access_.workers.boot(),
            worker.lease_time.count(), (access_.clock.uptime() + worker.lease_time).count());
        return {};
      },
      Sync::later);
  if (!enrolled && number != 0) access_.workers.drop(number);
  return enrolled;
}

Result<void> SqliteRoles::renew(const WorkerId& worker) {
  return access_.writer.write(
      [&](Connection& db) -> Result<void> {
        Rows rows = db.query("SELECT num FROM worker WHERE id = ?", worker.text());
        if (!rows.next() || !access_.workers.holds(rows.integer(0))) {
          return fail(ErrorCode::lease_lost,
                      fmt::format("worker {} is unknown here or has retired", worker.text()),
                      worker.text());
        }
        db.run("UPDATE worker SET until = ? + lease_time WHERE num = ?",
               access_.clock.uptime().count(), rows.integer(0));
        return {};
      },
      Sync::later);
}

Result<void> SqliteRoles::retire(const WorkerId& worker) {
  std::int64_t number = 0;
  auto retired = access_.writer.write(
      [&](Connection& db) -> Result<void> {
        Rows rows = db.query("SELECT num FROM worker WHERE id = ?", worker.text());
        if (!rows.next()) return {};
        number = rows.integer(0);
        db.run(
            "UPDATE session SET owner = NULL, owned_since = NULL, revision = revision + 1 "
            "WHERE owner = ?",
            number);
        db.run("UPDATE resource SET worker = NULL WHERE worker = ?", number);
        db.run("DELETE FROM worker WHERE num = ?", number);
        return {};
      },
      Sync::later);
  if (retired && number != 0) access_.workers.drop(number);
  return retired;
}

Result<Lease> SqliteRoles::acquire(const SessionId& session, const WorkerId& worker, Sync sync) {
  const auto grant = [&](Connection& db) -> Result<Lease> {
    const auto grip = find_session_grip(db, access_.workers, session);
    if (!grip) {
      return fail(ErrorCode::not_found, fmt::format("there is no session {}", session.text()),
                  session.text());
    }
    if (auto here = rules::check_here(session, grip->moved); !here) return forward(here);
    auto number = require_live_worker(db, access_.workers, worker);
    if (!number) return forward(number);
    Lease lease{.session = session, .worker = worker, .fence = grip->fence};
    if (grip->is_of(worker)) return lease;
    const auto& holder = grip->holder;
    if (holder && holder->alive) return held(fmt::format("session {}", session.text()), *holder);
    ++lease.fence;
    db.run(
        "UPDATE session SET owner = ?, owned_since = ?, fence = ?, revision = revision + 1 "
        "WHERE id = ?",
        *number, access_.clock.now(), lease.fence, session.text());
    return lease;
  };
  return access_.writer.write(grant, sync);
}

Result<void> SqliteRoles::release(const Lease& lease) {
  return access_.writer.write(
      [&](Connection& db) -> Result<void> {
        db.run(
            "UPDATE session SET owner = NULL, owned_since = NULL, revision = revision + 1 "
            "WHERE id = ? AND fence = ? AND owner = (SELECT num FROM worker WHERE id = ?)",
            lease.session.text(), lease.fence, lease.worker.text());
        return {};
      },
      Sync::later);
}

Result<ResourceLease> SqliteRoles::acquire_resource(const std::string& name,
                                                    const WorkerId& worker) {
  if (auto checked = rules::check_resource(name); !checked) return forward(checked);
  return access_.writer.write([&](Connection& db) -> Result<ResourceLease> {
    auto number = require_live_worker(db, access_.workers, worker);
    if (!number) return forward(number);
    const Grip grip = find_resource_grip(db, access_.workers, name);
    ResourceLease lease{.name = name, .worker = worker, .fence = grip.fence};
    if (grip.is_of(worker)) return lease;
    const auto& holder = grip.holder;
    if (holder && holder->alive) return held(fmt::format("resource {}", name), *holder);
    ++lease.fence;
    db.run("INSERT OR REPLACE INTO resource (name, worker, fence, since) VALUES (?, ?, ?, ?)", name,
           *number, lease.fence, access_.clock.now());
    return lease;
  });
}

Result<std::optional<Holder>> SqliteRoles::find_resource(const std::string& name) {
  return access_.readers.read([&](Connection& db) -> Result<std::optional<Holder>> {
    return find_resource_grip(db, access_.workers, name).holder;
  });
}

}  // namespace perdure::sqlite
