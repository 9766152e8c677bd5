// The session is gone when its row is; everything else follows in slices.

#include <cstdint>
#include <fmt/format.h>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/progress.hpp"
#include "perdure/store/retention.hpp"
#include "perdure/store/sessions.hpp"
#include "sqlite/connection.hpp"
#include "sqlite/garbage.hpp"
#include "sqlite/line.hpp"
#include "sqlite/roles.hpp"
#include "sqlite/rows.hpp"
#include "sqlite/slices.hpp"
#include "sqlite/workers.hpp"

namespace perdure::sqlite {
namespace {

Result<void> check_removable(Connection& db, const Workers& workers, std::int64_t session,
                             const SessionId& id) {
  Rows rows = db.query(sql(select_session, "WHERE s.num = ?"), session);
  rows.next();
  const SessionSummary summary = read_session(rows, workers);
  const auto& holder = summary.holder;
  if (holder && holder->alive) {
    return fail(ErrorCode::lease_held,
                fmt::format("session {} is held by worker {} (host {}, pid {})", id.text(),
                            holder->worker.text(), holder->host, holder->pid),
                holder->worker.text());
  }
  // What became of the calls of a session that was moved is the other store's to say.
  if (!summary.moved_to.empty()) return {};
  Rows open = db.query(
      "SELECT min(position) FROM call WHERE state IN ('intended', 'dispatched', 'in_doubt') "
      "AND session = ?",
      session);
  if (!open.next() || open.is_null(0)) return {};
  const std::string name = call_name(id, open.number(0));
  return fail(ErrorCode::conflict,
              fmt::format("nobody knows yet what became of call {}: resolve it first", name), name);
}

}  // namespace

Result<Freed> SqliteRetention::remove(const SessionId& session, const Progress& progress) {
  auto removed = access_.writer.write([&](Connection& db) -> Result<std::int64_t> {
    auto number = require_session(db, session);
    if (!number) return forward(number);
    auto free = check_removable(db, access_.workers, *number, session);
    if (!free) return forward(free);
    db.run("INSERT INTO garbage VALUES (?, ?)", *number, session.text());
    db.run("DELETE FROM session WHERE num = ?", *number);
    return *number;
  });
  if (!removed) return forward(removed);
  Slices slices(access_.writer, progress);
  auto freed = clear_garbage(slices, {*removed});
  if (!freed) return forward(freed);
  if (auto finished = slices.finish(); !finished) return forward(finished);
  return *freed;
}

}  // namespace perdure::sqlite
