// The session is gone when its row is; everything else follows in slices (sql/remove.sql).

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/upkeep.hpp"
#include "postgres/client/connection.hpp"
#include "postgres/client/params.hpp"
#include "postgres/client/process.hpp"
#include "postgres/client/rows.hpp"
#include "postgres/operations/roles.hpp"
#include "postgres/upkeep/garbage.hpp"
#include "postgres/upkeep/slices.hpp"

namespace perdure::postgres {
namespace {

struct Removal {
  std::int64_t session = 0;
  std::optional<std::string> gone{};  ///< Its owner, whose process is known to have ended.
};

Result<Removal> look(const Access& access, const SessionId& session) {
  return access.client.read([&](Connection& db) -> Result<Removal> {
    Rows rows = db.query(
        "SELECT n.num, w.id, w.process FROM perdure.require_session($1) n(num) "
        "LEFT JOIN perdure.session s ON s.num = n.num "
        "LEFT JOIN perdure.worker w ON w.num = s.owner",
        Params::of(session.text()));
    rows.next();
    Removal removal{.session = rows.integer(0)};
    if (!rows.is_null(1) && has_ended(rows.text(2))) removal.gone = rows.string(1);
    return removal;
  });
}

/// Clears what is left of one removed session; adds to `sessions` those that existed only for it.
Result<void> clear(const Access& access, Slices& slices, Freed& freed,
                   std::vector<std::int64_t>& sessions) {
  const std::int64_t session = sessions.back();
  sessions.pop_back();
  std::int64_t segment = std::numeric_limits<std::int64_t>::max();
  std::int64_t from = 0;
  return slices.run([&]() -> Result<bool> {
    auto cleared = access.write("SELECT * FROM perdure.clear_slice($1, $2, $3, $4, $5)",
                                Params::of(session, segment, from, slice_rows, slice_bytes));
    if (!cleared) return forward(cleared);
    ++slices.step.done;
    if (!cleared->next()) return false;
    segment = cleared->integer(0);
    from = cleared->integer(1);
    freed.items += cleared->number(2);
    freed.bytes += cleared->number(3);
    if (!cleared->is_null(4)) {
      sessions.push_back(cleared->integer(4));
      ++slices.step.total;
    }
    const bool more = cleared->boolean(5);
    if (more) ++slices.step.total;
    return more;
  });
}

}  // namespace

Result<std::vector<std::int64_t>> list_garbage(const Access& access) {
  return access.client.read([](Connection& db) -> Result<std::vector<std::int64_t>> {
    Rows rows = db.query("SELECT session FROM perdure.garbage ORDER BY session");
    std::vector<std::int64_t> sessions;
    while (rows.next()) sessions.push_back(rows.integer(0));
    return sessions;
  });
}

Result<Freed> clear_garbage(const Access& access, Slices& slices,
                            std::vector<std::int64_t> sessions) {
  Freed freed;
  slices.step.total += sessions.size();
  while (!sessions.empty() && !slices.stopped()) {
    if (auto cleared = clear(access, slices, freed, sessions); !cleared) return forward(cleared);
  }
  return freed;
}

Result<Freed> PostgresRoles::remove(const SessionId& session, const Progress& progress) {
  auto removal = look(access_, session);
  if (!removal) return forward(removal);
  auto removed = access_.write("SELECT perdure.remove_session($1, $2, $3)",
                               Params::of(access_.uptime(), removal->session, removal->gone));
  if (!removed) return forward(removed);
  Slices slices(progress);
  return clear_garbage(access_, slices, {removal->session});
}

}  // namespace perdure::postgres
