// What a check would find in a salvaged store, found before anybody asks: a person who is told that
// all is saved would not look. Pages and trees are new and need no look.

#include <cstdint>
#include <fmt/format.h>
#include <utility>

#include "perdure/store/upkeep.hpp"
#include "sqlite/check_run.hpp"
#include "sqlite/connection.hpp"
#include "sqlite/salvaged_file.hpp"
#include "sqlite/scan.hpp"

namespace perdure::sqlite {

void survey(Connection& db, SalvageReport& report) {
  const Progress nobody;
  CheckRun run(db, {}, nobody);
  for (const std::int64_t number : readable_sessions(db)) {
    const std::uint64_t before = run.report().found;
    run.guard({}, fmt::format("session number {}", number), [&] { check_session(run, number); });
    ++report.sessions;
    if (run.report().found == before) ++report.whole;
  }
  check_rest(run);
  CheckReport check = run.found.finish();
  report.damage = std::move(check.damage);
  report.found = check.found;
}

}  // namespace perdure::sqlite
