// Moves over SQLite. Which sessions go is decided in the transaction that marks them: no one can
// acquire, fork or remove a relative in between. Slices of facts are not synced; what marks
// or releases sessions is.

#include "store/api/transfer.hpp"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/ownership.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/upkeep.hpp"
#include "rules/fact_slices.hpp"
#include "rules/moves.hpp"
#include "sqlite/engine/commit.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/roles.hpp"
#include "sqlite/engine/rows.hpp"
#include "sqlite/engine/slices.hpp"
#include "sqlite/engine/workers.hpp"
#include "sqlite/retention/garbage.hpp"
#include "sqlite/transit.hpp"

namespace perdure::sqlite {
namespace {

struct KnownSession {
  std::int64_t number = 0;
  rules::Moved moved;
  std::uint64_t revision = 0;
};

/// Every session of the store, and which belong together.
struct AllSessions {
  std::map<SessionId, KnownSession> sessions;
  std::set<SessionId> here;
  rules::Families families;
};

std::string family_name(const std::map<std::int64_t, std::string>& ids, std::int64_t number) {
  const auto found = ids.find(number);
  return found == ids.end() ? rules::Families::name_of(static_cast<OwnerNumber>(number))
                            : found->second;
}

AllSessions read_all(Connection& db) {
  AllSessions all;
  std::map<std::int64_t, std::string> ids;
  Rows rows = db.query("SELECT num, id, moved, parent, revision FROM session");
  while (rows.next()) {
    const auto id = stored_id<SessionId>(rows.text(1));
    const KnownSession known{.number = rows.integer(0),
                             .moved = rules::moved_from(rows.text(2)),
                             .revision = rows.number(4)};
    ids.emplace(known.number, id.text());
    if (!rows.is_null(3)) all.families.join(id.text(), rows.string(3));
    if (known.moved.is_here()) all.here.insert(id);
    all.sessions.emplace(id, known);
  }
  Rows shared = db.query(
      "SELECT DISTINCT g.session, p.session FROM segment g JOIN segment p ON p.num = g.parent "
      "WHERE p.session <> g.session");
  while (shared.next()) {
    all.families.join(family_name(ids, shared.integer(0)), family_name(ids, shared.integer(1)));
  }
  return all;
}

Result<void> check_free(Connection& db, const Workers& workers, std::int64_t number) {
  Rows rows = db.query(sql(select_session, "WHERE s.num = ?"), number);
  if (!rows.next()) return {};
  const SessionSummary session = read_session(rows, workers);
  if (!session.holder || !session.holder->alive) return {};
  return fail(ErrorCode::lease_held,
              fmt::format("session {} is held by worker {} (host {}, pid {})", session.id.text(),
                          session.holder->worker.text(), session.holder->host, session.holder->pid),
              session.holder->worker.text());
}

// What `find_owners` promises of sessions: all that are here if none are named.
Result<std::map<SessionId, KnownSession>> choose(Connection& db, const Workers& workers,
                                                 const std::vector<SessionId>& sessions) {
  AllSessions all = read_all(db);
  std::set<SessionId> names(sessions.begin(), sessions.end());
  if (sessions.empty()) names = all.here;
  std::map<SessionId, KnownSession> chosen;
  for (const SessionId& id : names) {
    const auto found = all.sessions.find(id);
    if (found == all.sessions.end()) {
      return fail(ErrorCode::not_found, fmt::format("there is no session {}", id.text()),
                  id.text());
    }
    if (auto here = rules::check_here(id, found->second.moved); !here) return forward(here);
    if (auto free = check_free(db, workers, found->second.number); !free) return forward(free);
    chosen.insert(*found);
  }
  if (auto complete = all.families.check_complete(names, all.here); !complete) {
    return forward(complete);
  }
  return chosen;
}

std::vector<OwnerNumber> with_ancestors(Connection& db, std::set<OwnerNumber> owners) {
  Rows rows = db.query(
      "WITH RECURSIVE above(num) AS (SELECT parent FROM segment WHERE parent IS NOT NULL AND "
      "session IN (SELECT value FROM json_each(?)) UNION SELECT g.parent FROM segment g JOIN "
      "above ON g.num = above.num WHERE g.parent IS NOT NULL) SELECT DISTINCT session FROM segment "
      "WHERE num IN above",
      fmt::format("[{}]", fmt::join(owners, ",")));
  while (rows.next()) owners.insert(rows.number(0));
  return {owners.begin(), owners.end()};
}

constexpr int arriving = 1;  ///< The side of rows in `move` and `transit`.
constexpr int departed = 0;

rules::OpenArrival read_open(Connection& db, const std::string& from) {
  Rows rows = db.query("SELECT ticket, cursor FROM move WHERE peer = ? AND side = ? AND since <> 0",
                       from, arriving);
  if (!rows.next()) return {};
  auto next = rules::fact_cursor_from(rows.text(1));
  if (!next) throw SqliteError(SQLITE_CORRUPT, "how far an arrival has come cannot be read");
  return {.attempt = rows.number(0), .next = *std::move(next)};
}

void write_open(Connection& db, const Arrival& arrival, const FactCursor& next) {
  db.run(
      "INSERT OR REPLACE INTO move (peer, side, ticket, since, done, cursor) "
      "VALUES (?, ?, ?, 1, 0, ?)",
      arrival.from, arriving, arrival.attempt, rules::to_text(next));
}

// What is left of its owners is garbage like any other, unless they were released.
void close_arrival(Connection& db, const std::string& from) {
  db.run(
      "DELETE FROM arriving WHERE num IN (SELECT owner FROM transit WHERE side = 1 AND peer = ?)",
      from);
  db.run("DELETE FROM arrived_segment WHERE peer = ?", from);
  db.run("DELETE FROM transit WHERE side = 1 AND peer = ?", from);
  db.run("DELETE FROM move WHERE side = 1 AND peer = ?", from);
}

Result<void> clear_all_garbage(const Access& access) {
  auto garbage = access.readers.read(
      [](Connection& db) -> Result<std::vector<std::int64_t>> { return list_garbage(db); });
  if (!garbage) return forward(garbage);
  if (garbage->empty()) return {};
  const Progress none;
  Slices slices(access.writer, none);
  if (auto cleared = clear_garbage(slices, *std::move(garbage)); !cleared) return forward(cleared);
  return slices.finish();
}

bool was_marked(Connection& db, const Destination& to, std::uint64_t attempt) {
  return db
      .query("SELECT 1 FROM move WHERE peer = ? AND side = ? AND done = ?", to.incarnation,
             departed, attempt)
      .next();
}

Result<void> mark(Connection& db, const Workers& workers, const Destination& to,
                  const std::vector<SessionVersion>& sessions) {
  if (sessions.empty()) return rules::not_marked();
  std::vector<SessionId> names;
  names.reserve(sessions.size());
  for (const SessionVersion& version : sessions) names.push_back(version.session);
  auto chosen = choose(db, workers, names);
  if (!chosen) return forward(chosen);
  for (const SessionVersion& version : sessions) {
    const KnownSession& known = chosen->at(version.session);
    if (auto same = rules::check_unchanged(version, known.revision); !same) return same;
    db.run(
        "UPDATE session SET moved = ?, owner = NULL, owned_since = NULL, fence = fence + 1, "
        "revision = revision + 1 WHERE num = ?",
        rules::to_text({.to = to}), known.number);
  }
  return {};
}

}  // namespace

// What is left of removed sessions is cleared away first: it would change under the reader, and
// claims be made after they were read.
Result<std::vector<OwnerNumber>> SqliteTransfer::find_owners(
    const std::vector<SessionId>& sessions) {
  if (auto cleared = clear_all_garbage(access_); !cleared) return forward(cleared);
  return access_.readers.read([&](Connection& db) -> Result<std::vector<OwnerNumber>> {
    auto chosen = choose(db, access_.workers, sessions);
    if (!chosen) return forward(chosen);
    std::set<OwnerNumber> owners;
    for (const auto& [id, known] : *chosen) owners.insert(static_cast<OwnerNumber>(known.number));
    return with_ancestors(db, std::move(owners));
  });
}

Result<FactSlice> SqliteTransfer::read(const FactSource& source, const FactCursor& from) {
  return access_.readers.read([&](Connection& db) -> Result<FactSlice> {
    const std::string& place = source.arrival.from;
    const std::uint64_t attempt = place.empty() ? 0 : read_open(db, place).attempt;
    FactSlice slice = read_facts(db, access_.workers, source, from);
    slice.attempt = attempt;
    return slice;
  });
}

Result<void> SqliteTransfer::take(const Arrival& arrival, const FactSlice& slice) {
  return access_.writer.write(
      [&](Connection& db) -> Result<void> {
        auto is_new = rules::check_next(arrival, slice, read_open(db, arrival.from));
        if (!is_new) return forward(is_new);
        if (!*is_new) return {};
        if (auto taken = take_facts(db, arrival.from, slice.facts); !taken) return taken;
        write_open(db, arrival, slice.next);
        return {};
      },
      Sync::later);
}

Result<void> SqliteTransfer::release(const Arrival& arrival) {
  return access_.writer.write([&](Connection& db) -> Result<void> {
    auto checked = rules::check_release(arrival, read_open(db, arrival.from));
    if (!checked) return checked;
    land(db, arrival.from);
    close_arrival(db, arrival.from);
    return {};
  });
}

Result<void> SqliteTransfer::discard(const Arrival& arrival) {
  auto discarded = access_.writer.write([&](Connection& db) -> Result<void> {
    const std::uint64_t open = read_open(db, arrival.from).attempt;
    const bool is_it = open != 0 && (arrival.attempt == 0 || arrival.attempt == open);
    if (is_it) close_arrival(db, arrival.from);
    return {};
  });
  if (!discarded) return discarded;
  return clear_all_garbage(access_);
}

Result<void> SqliteTransfer::mark_moved(const Destination& to, std::uint64_t attempt,
                                        const std::vector<SessionVersion>& sessions) {
  if (auto checked = rules::check(to); !checked) return checked;
  return access_.writer.write([&](Connection& db) -> Result<void> {
    if (was_marked(db, to, attempt)) {
      // The process that marked it may have died before its sync: this synced write covers the mark.
      write_frame(db);
      return {};
    }
    auto marked = mark(db, access_.workers, to, sessions);
    if (!marked) return marked;
    db.run(
        "INSERT OR REPLACE INTO move (peer, side, ticket, since, done, cursor) "
        "VALUES (?1, ?2, ?3, 0, ?3, '')",
        to.incarnation, departed, attempt);
    return {};
  });
}

}  // namespace perdure::sqlite
