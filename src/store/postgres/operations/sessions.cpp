// Sessions and who owns them.

#include "perdure/store/sessions.hpp"

#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "postgres/client/client.hpp"
#include "postgres/client/connection.hpp"
#include "postgres/client/params.hpp"
#include "postgres/client/process.hpp"
#include "postgres/client/values.hpp"
#include "postgres/operations/roles.hpp"
#include "rules/checks.hpp"
#include "rules/queries.hpp"
#include "rules/stored_rows.hpp"
#include "store/api/lookup.hpp"

namespace perdure::postgres {

// Sessions over PostgreSQL. A list is sorted and paged in SQL; what the query says about a row is
// decided in C++ (rules/match.hpp).

namespace {

/// Rows asked for at a time, where only C++ knows how many of them are wanted.
constexpr std::size_t rows_at_once = 256;

Rows next_sessions(Connection& db, const Access& access, const SessionQuery& query,
                   const std::optional<rules::Mark>& mark) {
  const std::string_view column = rules::sort_column(query.sort);
  const std::string_view way = query.descending ? "DESC" : "ASC";
  const std::string last = rules::last_id_with(query.id_prefix);
  Params params = Params::of(access.uptime());
  std::string where = "WHERE true";
  if (!query.id_prefix.empty()) {
    where += " AND s.id BETWEEN $2 AND $3";
    params.add(query.id_prefix).add(last);
  }
  if (mark) {
    where += fmt::format(" AND (s.{}, s.id) {} (${}, ${})", column, query.descending ? "<" : ">",
                         params.count() + 1, params.count() + 2);
    std::visit([&](const auto& key) { params.add(key); }, mark->key);
    params.add(mark->id);
  }
  return db.query(select_sessions(fmt::format("{0} ORDER BY s.{1} {2}, s.id {2} LIMIT {3}", where,
                                              column, way, rows_at_once)),
                  params);
}

// Takes what matches; true once the page is full, and there is more.
bool fill_page(SessionPage& page, Rows& rows, const SessionQuery& query,
               std::optional<rules::Mark>& mark) {
  while (rows.next()) {
    SessionSummary session = read_session(rows);
    mark = rules::mark_of(session, query.sort);
    if (!rules::matches(query, session)) continue;
    if (page.sessions.size() == query.limit) {
      page.next = rules::to_cursor(query, rules::mark_of(page.sessions.back(), query.sort));
      return true;
    }
    page.sessions.push_back(std::move(session));
  }
  return false;
}

}  // namespace

Result<SessionSummary> PostgresRoles::create(const NewSession& session) {
  if (auto checked = rules::check(session); !checked) return forward(checked);
  auto made = access_.call("create_session", access_.now(), access_.is_synced(Sync::now),
                           session_row(session, mint<BatchTag>(access_.ids).text()).text());
  if (!made) return forward(made);
  return read(session.id);
}

Result<SessionSummary> PostgresRoles::read(const SessionId& id) {
  return access_.client.read([&](Connection& db) -> Result<SessionSummary> {
    Rows rows =
        db.query(select_sessions("WHERE s.id = $2"), Params::of(access_.uptime(), id.text()));
    if (rows.next()) return read_session(rows);
    return fail(ErrorCode::not_found, fmt::format("there is no session {}", id.text()), id.text());
  });
}

Result<SessionPage> PostgresRoles::list(const SessionQuery& query) {
  if (auto checked = rules::check(query); !checked) return forward(checked);
  std::optional<rules::Mark> start;
  if (!query.cursor.empty()) {
    auto read = rules::from_cursor(query);
    if (!read) return forward(read);
    start = *std::move(read);
  }
  return access_.client.read([&](Connection& db) -> Result<SessionPage> {
    SessionPage page;
    std::optional<rules::Mark> mark = start;
    while (true) {
      Rows rows = next_sessions(db, access_, query, mark);
      const bool is_last = rows.count() < rows_at_once;
      if (fill_page(page, rows, query, mark) || is_last) return page;
    }
  });
}

// An owner on this machine may have ended before its time is over, so what it owns is looked at too.
Result<std::vector<SessionSummary>> PostgresRoles::due(std::size_t limit) {
  if (auto checked = rules::check_limit(limit); !checked) return forward(checked);
  const std::string machine(own_machine());
  return access_.client.read([&](Connection& db) -> Result<std::vector<SessionSummary>> {
    std::vector<SessionSummary> sessions;
    for (std::int64_t seen = 0;; seen += static_cast<std::int64_t>(rows_at_once)) {
      Rows rows = db.query(
          select_sessions(
              "WHERE s.status IN ('active', 'waiting') AND (s.status = 'active' OR s.wake_at <= "
              "coalesce($2, perdure.clock_ms())) AND "
              "s.moved IS NULL AND "
              "(w.num IS NULL OR w.ended OR w.until <= coalesce($1, floor(extract(epoch FROM "
              "clock_timestamp()) * 1000)::bigint) OR starts_with(w.process, $3)) ORDER BY CASE "
              "s.status WHEN 'active' THEN s.updated_at ELSE s.wake_at END, s.id LIMIT $4 OFFSET "
              "$5"),
          Params::of(access_.uptime(), access_.now(), machine,
                     static_cast<std::int64_t>(rows_at_once), seen));
      while (rows.next()) {
        SessionSummary session = read_session(rows);
        if (session.holder && session.holder->alive) continue;
        sessions.push_back(std::move(session));
        if (sessions.size() == limit) return sessions;
      }
      if (rows.count() < rows_at_once) return sessions;
    }
  });
}

Result<SessionSummary> PostgresRoles::annotate(const SessionId& id, const Annotation& part) {
  if (auto checked = rules::check(part); !checked) return forward(checked);
  std::optional<std::string> tags;
  if (part.tags) tags = rules::tags_text(*part.tags);
  auto done = access_.call("annotate", access_.now(), access_.is_synced(Sync::now), id.text(),
                           part.title, part.opening, tags, part.metadata);
  if (!done) return forward(done);
  return read(id);
}

// Ownership over PostgreSQL: the server's clock judges leases.
//
// A worker whose process this machine knows to be gone is not waited for: its row names the
// process, the kernel is asked, and the grant is asked for again with that knowledge.

namespace {

// Those of this machine whose processes ended silently.
Result<std::vector<std::int64_t>> find_gone(Client& client) {
  return client.read([](Connection& db) -> Result<std::vector<std::int64_t>> {
    const std::string machine(own_machine());
    Rows rows = db.query(
        "SELECT num, process FROM perdure.worker WHERE NOT ended AND starts_with(process, $1)",
        Params::of(machine));
    std::vector<std::int64_t> gone;
    while (rows.next()) {
      if (has_ended(rows.text(1))) gone.push_back(rows.integer(0));
    }
    return gone;
  });
}

}  // namespace

// Best effort: where the server cannot be reached, the workers' time runs out.
void PostgresRoles::end_workers() {
  if (own_.empty()) return;
  std::vector<std::string_view> workers;
  workers.reserve(own_.size());
  for (const WorkerId& worker : own_) workers.push_back(worker.text());
  [[maybe_unused]] const auto told = access_.call("end_workers", workers);
}

Result<void> PostgresRoles::enroll(const NewWorker& worker) {
  if (auto checked = rules::check(worker); !checked) return checked;
  auto gone = find_gone(access_.client);
  if (!gone) return forward(gone);
  auto enrolled =
      access_.call("enroll", access_.uptime(), mint<BatchTag>(access_.ids).text(), worker.id.text(),
                   worker.host, worker.pid, own_process(), worker.lease_time, *gone);
  if (!enrolled) return forward(enrolled);
  const std::scoped_lock lock(mutex_);
  own_.insert(worker.id);
  return {};
}

Result<void> PostgresRoles::renew(const WorkerId& worker) {
  const auto lost = [&] {
    return fail(ErrorCode::lease_lost,
                fmt::format("worker {} is unknown here or has retired", worker.text()),
                worker.text());
  };
  {
    const std::scoped_lock lock(mutex_);
    if (!own_.contains(worker)) return lost();
  }
  auto renewed = access_.call("renew", access_.uptime(), worker.text());
  if (!renewed) return forward(renewed);
  if (!renewed->next() || !renewed->boolean(0)) return lost();
  return {};
}

Result<void> PostgresRoles::retire(const WorkerId& worker) {
  auto retired = access_.call("retire", worker.text());
  if (!retired) return forward(retired);
  const std::scoped_lock lock(mutex_);
  own_.erase(worker);
  return {};
}

bool PostgresRoles::is_gone(const std::string& worker) {
  auto gone = access_.client.read([&](Connection& db) -> Result<bool> {
    Rows rows = db.query("SELECT process FROM perdure.worker WHERE id = $1", Params::of(worker));
    return rows.next() && has_ended(rows.text(0));
  });
  return gone && *gone;
}

// `ask(gone)` asks for the grant, knowing that the worker `gone` has ended.
template <class Ask>
Result<Fence> PostgresRoles::take(Ask ask) {
  Result<Rows> granted = ask(std::optional<std::string>());
  if (!granted && granted.error().code == ErrorCode::lease_held) {
    const std::string holder = granted.error().subject;
    if (is_gone(holder)) granted = ask(std::optional(holder));
  }
  if (!granted) return forward(granted);
  granted->next();
  return granted->number(0);
}

Result<Lease> PostgresRoles::acquire(const SessionId& session, const WorkerId& worker, Sync sync) {
  auto fence = take([&](const std::optional<std::string>& gone) {
    return access_.call("acquire", access_.now(), access_.uptime(), access_.is_synced(sync),
                        session.text(), worker.text(), gone);
  });
  if (!fence) return forward(fence);
  return Lease{.session = session, .worker = worker, .fence = *fence};
}

Result<void> PostgresRoles::release(const Lease& lease) {
  return without_rows(
      access_.call("release", lease.session.text(), lease.worker.text(), sendable(lease.fence)));
}

Result<ResourceLease> PostgresRoles::acquire_resource(const std::string& name,
                                                      const WorkerId& worker) {
  if (auto checked = rules::check_resource(name); !checked) return forward(checked);
  auto fence = take([&](const std::optional<std::string>& gone) {
    return access_.call("acquire_resource", access_.now(), access_.uptime(),
                        access_.is_synced(Sync::now), name, worker.text(), gone);
  });
  if (!fence) return forward(fence);
  return ResourceLease{.name = name, .worker = worker, .fence = *fence};
}

Result<std::optional<Holder>> PostgresRoles::find_resource(const std::string& name) {
  return access_.client.read([&](Connection& db) -> Result<std::optional<Holder>> {
    Rows rows = db.query(
        "SELECT r.fence, r.since, w.id, w.host, w.pid, w.process, w.ended, w.until > "
        "coalesce($1, perdure.clock_ms()) "
        "FROM perdure.resource r JOIN perdure.worker w ON w.num = r.worker WHERE r.name = $2",
        Params::of(access_.uptime(), searchable(name)));
    if (!rows.next()) return std::nullopt;
    return read_holder(rows, 0);
  });
}

}  // namespace perdure::postgres
