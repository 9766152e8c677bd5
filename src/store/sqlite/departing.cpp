// Who goes. All of it is decided in the transaction that marks them: nobody can get a lease,
// make a fork or remove a relative in between.

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/facts.hpp"
#include "perdure/store/ownership.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/transfer.hpp"
#include "rules/moves.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/rows.hpp"
#include "sqlite/engine/workers.hpp"
#include "sqlite/transit.hpp"

namespace perdure::sqlite {
namespace {

struct KnownSession {
  std::int64_t number = 0;
  rules::Moved moved;
};

/// Every session of the store, and who belongs together.
struct Everybody {
  std::map<SessionId, KnownSession> sessions;
  std::set<SessionId> here;
  rules::Families families;
};

std::string family_name(const std::map<std::int64_t, std::string>& ids, std::int64_t number) {
  const auto found = ids.find(number);
  return found == ids.end() ? rules::Families::name_of(static_cast<OwnerNumber>(number))
                            : found->second;
}

Everybody read_everybody(Connection& db) {
  Everybody all;
  std::map<std::int64_t, std::string> ids;
  Rows rows = db.query("SELECT num, id, moved, parent FROM session");
  while (rows.next()) {
    const auto id = stored_id<SessionId>(rows.text(1));
    const KnownSession known{.number = rows.integer(0), .moved = rules::moved_from(rows.text(2))};
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

Result<std::set<SessionId>> choose(const Everybody& all, const Destination& to,
                                   const std::vector<SessionId>& sessions) {
  if (sessions.empty()) return all.here;
  std::set<SessionId> chosen;
  for (const SessionId& id : sessions) {
    const auto found = all.sessions.find(id);
    if (found == all.sessions.end()) {
      return fail(ErrorCode::not_found, fmt::format("there is no session {}", id.text()),
                  id.text());
    }
    auto free = rules::check_free_to_go(id, found->second.moved, to);
    if (!free) return forward(free);
    if (found->second.moved.is_here()) chosen.insert(id);
  }
  return chosen;
}

Result<void> check_nobody_runs(Connection& db, const Workers& workers, std::int64_t number) {
  Rows rows = db.query(sql(select_session, "WHERE s.num = ?"), number);
  if (!rows.next()) return {};
  const SessionSummary session = read_session(rows, workers);
  if (!session.holder || !session.holder->alive) return {};
  return fail(ErrorCode::lease_held,
              fmt::format("session {} is held by worker {} (host {}, pid {})", session.id.text(),
                          session.holder->worker.text(), session.holder->host, session.holder->pid),
              session.holder->worker.text());
}

void mark(Connection& db, const Destination& to, std::int64_t number) {
  db.run(
      "UPDATE session SET moved = ?, owner = NULL, owned_since = NULL, fence = fence + 1, "
      "revision = revision + 1 WHERE num = ?",
      rules::to_text(rules::Moved{.to = to, .moving = true}), number);
  db.run("INSERT INTO transit (owner, side, peer, origin) VALUES (?1, 0, ?2, ?1)", number,
         to.incarnation);
}

// Removed sessions whose segments the others go on from.
void add_ancestors(Connection& db, const Destination& to) {
  db.run(
      "INSERT OR IGNORE INTO transit (owner, side, peer, origin) "
      "WITH RECURSIVE above(num) AS (SELECT parent FROM segment WHERE parent IS NOT NULL AND "
      "session IN (SELECT owner FROM transit WHERE side = 0 AND peer = ?1) "
      "UNION SELECT g.parent FROM segment g JOIN above ON g.num = above.num WHERE g.parent IS NOT "
      "NULL) SELECT DISTINCT session, 0, ?1, session FROM segment WHERE num IN above",
      to.incarnation);
}

Result<std::set<std::int64_t>> choose_at_rest(Connection& db, const Workers& workers,
                                              const Destination& to,
                                              const std::vector<SessionId>& sessions) {
  Everybody all = read_everybody(db);
  auto chosen = choose(all, to, sessions);
  if (!chosen) return forward(chosen);
  std::set<std::int64_t> numbers;
  for (const SessionId& id : *chosen) {
    numbers.insert(all.sessions.at(id).number);
    auto nobody = check_nobody_runs(db, workers, all.sessions.at(id).number);
    if (!nobody) return forward(nobody);
  }
  auto complete = all.families.check_complete(*chosen, all.here);
  if (!complete) return forward(complete);
  return numbers;
}

}  // namespace

Result<void> send_off(Connection& db, const Workers& workers, const Destination& to,
                      const std::vector<SessionId>& sessions) {
  auto chosen = choose_at_rest(db, workers, to, sessions);
  if (!chosen) return forward(chosen);
  for (const std::int64_t number : *chosen) mark(db, to, number);
  add_ancestors(db, to);
  return {};
}

Result<std::vector<OwnerNumber>> list_owners(Connection& db, const Workers& workers,
                                             const std::vector<SessionId>& sessions) {
  auto chosen = choose_at_rest(db, workers, {}, sessions);
  if (!chosen) return forward(chosen);
  std::vector<OwnerNumber> owners(chosen->begin(), chosen->end());
  Rows rows = db.query(
      "WITH RECURSIVE above(num) AS (SELECT parent FROM segment WHERE parent IS NOT NULL AND "
      "session IN (SELECT value FROM json_each(?)) UNION SELECT g.parent FROM segment g JOIN "
      "above ON g.num = above.num WHERE g.parent IS NOT NULL) SELECT DISTINCT session FROM segment "
      "WHERE num IN above",
      json_list(owners));
  while (rows.next()) owners.push_back(rows.number(0));
  std::ranges::sort(owners);
  const auto twice = std::ranges::unique(owners);
  owners.erase(twice.begin(), twice.end());
  return owners;
}

std::string json_list(const std::vector<OwnerNumber>& numbers) {
  return fmt::format("[{}]", fmt::join(numbers, ","));
}

}  // namespace perdure::sqlite
