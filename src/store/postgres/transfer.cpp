// Moves over PostgreSQL: each step is one call of one function (sql/transfer.sql), which may be
// repeated when its answer was lost.

#include "perdure/store/transfer.hpp"

#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/facts.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/upkeep.hpp"
#include "postgres/client/client.hpp"
#include "postgres/client/connection.hpp"
#include "postgres/client/params.hpp"
#include "postgres/client/process.hpp"
#include "postgres/client/rows.hpp"
#include "postgres/client/values.hpp"
#include "postgres/operations/roles.hpp"
#include "postgres/transit.hpp"
#include "postgres/upkeep/garbage.hpp"
#include "postgres/upkeep/slices.hpp"
#include "rules/fact_slices.hpp"
#include "rules/moves.hpp"

namespace perdure::postgres {
namespace {

Departure read_departure(const Rows& rows) {
  const Ticket since = rows.number(1);
  return {.open = since == 0 ? 0 : rows.number(0), .since = since, .finished = rows.number(2)};
}

Result<Arrival> read_arrival(Ticket ticket, std::string_view cursor) {
  auto next = rules::fact_cursor_from(cursor);
  if (!next) return fail(ErrorCode::corrupted, "how far a move has come cannot be read");
  return Arrival{.ticket = ticket, .last = ticket, .next = *std::move(next)};
}

// Owners on this machine whose processes have ended: nobody has to wait for them.
Result<std::vector<std::string>> find_ended_owners(Client& client) {
  return client.read([](Connection& db) -> Result<std::vector<std::string>> {
    Rows rows = db.query(
        "SELECT DISTINCT w.id, w.process FROM perdure.worker w "
        "JOIN perdure.session s ON s.owner = w.num");
    std::vector<std::string> gone;
    while (rows.next()) {
      if (has_ended(rows.text(1))) gone.push_back(rows.string(0));
    }
    return gone;
  });
}

std::vector<std::string_view> views(const std::vector<std::string>& texts) {
  return {texts.begin(), texts.end()};
}

Result<void> clear_all_garbage(const Access& access) {
  auto garbage = list_garbage(access);
  if (!garbage) return forward(garbage);
  const Progress none;
  Slices slices(none);
  auto cleared = clear_garbage(access, slices, *std::move(garbage));
  if (!cleared) return forward(cleared);
  return {};
}

Result<void> check_at_rest(const SessionSummary& session) {
  const rules::Moved moved{.to = {.incarnation = {}, .place = session.moved_to},
                           .moving = session.moving};
  if (auto here = rules::check_here(session.id, moved); !here) return here;
  if (!session.holder || !session.holder->alive) return {};
  const std::string& worker = session.holder->worker.text();
  return fail(ErrorCode::lease_held,
              fmt::format("session {} is held by worker {}", session.id.text(), worker), worker);
}

// The numbers of sessions that are here and that nobody runs.
Result<std::vector<OwnerNumber>> choose_at_rest(Connection& db, std::optional<std::int64_t> uptime,
                                                const std::vector<SessionId>& sessions) {
  std::vector<std::string_view> names;
  names.reserve(sessions.size());
  for (const SessionId& session : sessions) names.push_back(session.text());
  std::set<std::string> found;
  Rows rows =
      db.query(sql(select_session, names.empty() ? "WHERE cardinality($2) = 0 AND s.moved IS NULL"
                                                 : "WHERE s.id = ANY ($2)"),
               Params::of(uptime, names));
  while (rows.next()) {
    const SessionSummary session = read_session(rows);
    if (auto free = check_at_rest(session); !free) return forward(free);
    found.insert(session.id.text());
  }
  for (const SessionId& session : sessions) {
    if (found.contains(session.text())) continue;
    return fail(ErrorCode::not_found, fmt::format("there is no session {}", session.text()),
                session.text());
  }
  names.assign(found.begin(), found.end());
  Rows numbered =
      db.query("SELECT num FROM perdure.session WHERE id = ANY ($1)", Params::of(names));
  std::vector<OwnerNumber> numbers;
  while (numbered.next()) numbers.push_back(numbered.number(0));
  return numbers;
}

}  // namespace

Result<Departure> PostgresTransfer::find_departure(const std::string& target) {
  return access_.client.read([&](Connection& db) -> Result<Departure> {
    Rows rows =
        db.query("SELECT ticket, since, done FROM perdure.move WHERE peer = $1 AND side = 0",
                 Params::of(target));
    return rows.next() ? read_departure(rows) : Departure{};
  });
}

// What is left of removed sessions is cleared away first: it would change under the reader.
Result<Departure> PostgresTransfer::depart(const Destination& to,
                                           const std::vector<SessionId>& sessions) {
  if (auto checked = rules::check(to); !checked) return forward(checked);
  if (auto cleared = clear_all_garbage(access_); !cleared) return forward(cleared);
  auto gone = find_ended_owners(access_.client);
  if (!gone) return forward(gone);
  std::vector<std::string_view> names;
  names.reserve(sessions.size());
  for (const SessionId& session : sessions) names.push_back(session.text());
  const std::vector<std::string_view> ended = views(*gone);
  auto departed =
      access_.write("SELECT * FROM perdure.depart($1, $2, $3, $4, $5)",
                    Params::of(access_.uptime(), to.incarnation, to.place, names, ended));
  if (!departed) return forward(departed);
  departed->next();
  return read_departure(*departed);
}

Result<Arrival> PostgresTransfer::find_arrival(const std::string& source) {
  return access_.client.read([&](Connection& db) -> Result<Arrival> {
    Rows rows =
        db.query("SELECT ticket, cursor, since FROM perdure.move WHERE peer = $1 AND side = 1",
                 Params::of(source));
    if (!rows.next()) return Arrival{};
    const Ticket last = rows.number(0);
    if (rows.number(2) == 0) return Arrival{.ticket = 0, .last = last, .next = {}};
    return read_arrival(last, rows.text(1));
  });
}

Result<Arrival> PostgresTransfer::arrive(const std::string& source, const Departure& departure) {
  const std::string start = rules::to_text(FactCursor{});
  auto arrived = access_.write("SELECT perdure.arrive($1, $2, $3, $4)",
                               Params::of(source, departure.open, departure.since, start));
  if (!arrived) return forward(arrived);
  arrived->next();
  return read_arrival(departure.open, arrived->text(0));
}

Result<Passage> PostgresTransfer::show(const std::vector<SessionId>& sessions) {
  if (auto cleared = clear_all_garbage(access_); !cleared) return forward(cleared);
  return access_.client.read([&](Connection& db) -> Result<Passage> {
    auto chosen = choose_at_rest(db, access_.uptime(), sessions);
    if (!chosen) return forward(chosen);
    db.query("SELECT perdure.require_families($1)", Params::of(*chosen));
    Rows rows = db.query(
        "WITH RECURSIVE above(num) AS (SELECT g.parent FROM perdure.segment g WHERE g.session = "
        "ANY ($1) AND g.parent IS NOT NULL UNION SELECT g.parent FROM perdure.segment g JOIN above "
        "a ON g.num = a.num WHERE g.parent IS NOT NULL) SELECT unnest($1) AS owner UNION SELECT "
        "g.session FROM perdure.segment g JOIN above a ON a.num = g.num ORDER BY owner",
        Params::of(*chosen));
    Passage passage{.side = Side::staying, .peer = {}, .ticket = 0, .owners = {}};
    while (rows.next()) passage.owners.push_back(rows.number(0));
    return passage;
  });
}

Result<FactSlice> PostgresTransfer::read(const Passage& passage, const FactCursor& from) {
  return access_.client.read([&](Connection& db) -> Result<FactSlice> {
    if (passage.side == Side::staying) return read_facts(db, passage, from);
    Rows rows = db.query("SELECT perdure.open_ticket($1, $2)",
                         Params::of(passage.peer, number_of(passage.side)));
    rows.next();
    if (auto current = rules::check_ticket(passage.ticket, rows.number(0)); !current) {
      return forward(current);
    }
    return read_facts(db, passage, from);
  });
}

Result<void> PostgresTransfer::take(const Passage& passage, const FactSlice& slice) {
  const std::string from = rules::to_text(slice.from);
  const std::string next = rules::to_text(slice.next);
  const SentFacts facts(slice);
  Params params = Params::of(passage.peer, passage.ticket, from, next);
  facts.add_to(params);
  auto taken =
      access_.write("SELECT perdure.take($1, $2, $3, $4, $5, $6::jsonb, $7, $8, $9, $10)", params);
  if (!taken) return forward(taken);
  return {};
}

Result<void> PostgresTransfer::end(const Passage& passage, MoveEnd how) {
  const std::string end =
      rules::to_text(FactCursor{.kind = FactKind::none, .group = 0, .number = 0, .name = {}});
  auto ended = access_.write("SELECT perdure.end_move($1, $2, $3, $4, $5)",
                             Params::of(passage.peer, number_of(passage.side), passage.ticket,
                                        how == MoveEnd::moved, end));
  if (!ended) return forward(ended);
  if (passage.side == Side::departing || how == MoveEnd::moved) return {};
  return clear_all_garbage(access_);
}

}  // namespace perdure::postgres
