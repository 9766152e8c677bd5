// Moves over PostgreSQL: each step is one call of one function (sql/transfer.sql), which may be
// repeated when its answer was lost.

#include "store/api/transfer.hpp"

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

Result<void> check_free(const SessionSummary& session) {
  const rules::Moved moved{.to = {.incarnation = {}, .place = session.moved_to}};
  if (auto here = rules::check_here(session.id, moved); !here) return here;
  if (!session.holder || !session.holder->alive) return {};
  const std::string& worker = session.holder->worker.text();
  return fail(ErrorCode::lease_held,
              fmt::format("session {} is held by worker {}", session.id.text(), worker), worker);
}

// The numbers of sessions that are here and not held.
Result<std::vector<OwnerNumber>> choose(Connection& db, std::optional<std::int64_t> uptime,
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
    if (auto free = check_free(session); !free) return forward(free);
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

// What is left of removed sessions is cleared away first: it would change under the reader.
Result<std::vector<OwnerNumber>> PostgresTransfer::find_owners(
    const std::vector<SessionId>& sessions) {
  if (auto cleared = clear_all_garbage(access_); !cleared) return forward(cleared);
  return access_.client.read([&](Connection& db) -> Result<std::vector<OwnerNumber>> {
    auto chosen = choose(db, access_.uptime(), sessions);
    if (!chosen) return forward(chosen);
    db.query("SELECT perdure.require_families($1)", Params::of(*chosen));
    Rows rows = db.query(
        "WITH RECURSIVE above(num) AS (SELECT g.parent FROM perdure.segment g WHERE g.session = "
        "ANY ($1) AND g.parent IS NOT NULL UNION SELECT g.parent FROM perdure.segment g JOIN above "
        "a ON g.num = a.num WHERE g.parent IS NOT NULL) SELECT unnest($1) AS owner UNION SELECT "
        "g.session FROM perdure.segment g JOIN above a ON a.num = g.num ORDER BY owner",
        Params::of(*chosen));
    std::vector<OwnerNumber> owners;
    while (rows.next()) owners.push_back(rows.number(0));
    return owners;
  });
}

Result<FactSlice> PostgresTransfer::read(const FactSource& source, const FactCursor& from) {
  return access_.client.read([&](Connection& db) -> Result<FactSlice> {
    Rows rows =
        db.query("SELECT ticket FROM perdure.move WHERE peer = $1 AND side = 1 AND since > 0",
                 Params::of(source.arrival.from));
    const std::uint64_t attempt = rows.next() ? rows.number(0) : 0;
    FactSlice slice = read_facts(db, source, from);
    slice.attempt = attempt;
    return slice;
  });
}

Result<void> PostgresTransfer::take(const Arrival& arrival, const FactSlice& slice) {
  const std::string start = rules::to_text(FactCursor{});
  const std::string from = rules::to_text(slice.from);
  const std::string next = rules::to_text(slice.next);
  const SentFacts facts(slice);
  Params params = Params::of(arrival.from, arrival.attempt, start, from, next);
  facts.add_to(params);
  auto taken = access_.write(
      "SELECT perdure.take($1, $2, $3, $4, $5, $6, $7::jsonb, $8, $9, $10, $11)", params);
  if (!taken) return forward(taken);
  return {};
}

Result<void> PostgresTransfer::release(const Arrival& arrival) {
  const std::string end =
      rules::to_text(FactCursor{.kind = FactKind::none, .group = 0, .number = 0, .name = {}});
  auto released = access_.write("SELECT perdure.release_arrival($1, $2, $3)",
                                Params::of(arrival.from, arrival.attempt, end));
  if (!released) return forward(released);
  return {};
}

Result<void> PostgresTransfer::discard(const Arrival& arrival) {
  auto discarded = access_.write("SELECT perdure.discard_arrival($1, $2)",
                                 Params::of(arrival.from, arrival.attempt));
  if (!discarded) return forward(discarded);
  return clear_all_garbage(access_);
}

Result<void> PostgresTransfer::mark_moved(const Destination& to, std::uint64_t attempt,
                                          const std::vector<SessionVersion>& sessions) {
  if (auto checked = rules::check(to); !checked) return checked;
  auto gone = find_ended_owners(access_.client);
  if (!gone) return forward(gone);
  std::vector<std::string_view> names;
  std::vector<std::uint64_t> revisions;
  for (const SessionVersion& version : sessions) {
    names.push_back(version.session.text());
    revisions.push_back(version.revision);
  }
  const std::vector<std::string_view> ended = views(*gone);
  auto marked = access_.write(
      "SELECT perdure.mark_moved($1, $2, $3, $4, $5, $6, $7)",
      Params::of(access_.uptime(), to.incarnation, to.place, attempt, names, revisions, ended));
  if (!marked) return forward(marked);
  return {};
}

}  // namespace perdure::postgres
