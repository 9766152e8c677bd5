// One read transaction from beginning to end: commits go on beside it, but the WAL
// cannot be begun anew before it is over.

#include "sqlite/check/check.hpp"

#include <cstdint>
#include <fmt/format.h>
#include <functional>
#include <optional>
#include <string_view>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/upkeep.hpp"
#include "sqlite/check/check_run.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/line.hpp"
#include "sqlite/engine/roles.hpp"
#include "sqlite/opening/restore.hpp"

namespace perdure::sqlite {

void CheckRun::guard(const std::optional<SessionId>& session, std::string_view what,
                     const std::function<void()>& work) {
  try {
    work();
  } catch (const SqliteError& error) {
    if (!error.is_damage()) throw;
    found.add(Fault::file, session, fmt::format("{} cannot be read: {}", what, error.what()));
  }
}

// Nothing else in the file can tell.
void check_wal(CheckRun& run) {
  std::optional<Timestamp> found_at = run.wal_lost_at;
  run.guard({}, "the note of a lost WAL", [&] {
    if (!found_at) found_at = find_loss(run.db);
  });
  if (!found_at) return;
  run.found.add(
      Fault::file, {},
      fmt::format("the WAL lacks commits that were acknowledged: it was deleted, cut or damaged "
                  "before {}; the store is at an earlier moment",
                  to_iso8601(*found_at)));
}

Result<CheckReport> check_store(Access access, const std::optional<Timestamp>& wal_lost_at,
                                const Progress& progress) {
  // Apart: of a page that is in memory already nobody sees what the file has.
  return access.readers.read_apart([&](Connection& db) -> Result<CheckReport> {
    CheckRun run(db, wal_lost_at, progress);
    const auto sessions = readable_sessions(db);
    run.set_total(sessions.size() + 3);
    if (!run.go_on()) return run.found.finish();
    check_pages(run);
    run.advance();
    if (!run.go_on()) return run.found.finish();
    check_wal(run);
    check_file(run);
    run.advance();
    for (const std::int64_t number : sessions) {
      if (!run.go_on()) return run.found.finish();
      run.guard({}, fmt::format("session number {}", number), [&] { check_session(run, number); });
      run.advance();
    }
    if (!run.go_on()) return run.found.finish();
    check_rest(run);
    run.advance();
    static_cast<void>(run.go_on());
    return run.found.finish();
  });
}

}  // namespace perdure::sqlite
