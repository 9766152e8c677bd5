// Checking a store in one SQLite file.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/upkeep.hpp"
#include "rules/session_check.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/line.hpp"
#include "sqlite/engine/roles.hpp"

namespace perdure::sqlite {

/// `wal_lost_at`: when the opening of this store found that the WAL lacks commits.
[[nodiscard]] Result<CheckReport> check_store(Access access,
                                              const std::optional<Timestamp>& wal_lost_at,
                                              const Progress& progress);

/// What the parts of one check share.
class CheckRun final : public rules::CheckRun {
 public:
  CheckRun(Connection& connection, const Progress& progress)
      : rules::CheckRun(progress), db(connection) {
    db.note_wrong_pages(&wrong_pages);
  }
  ~CheckRun() override { db.note_wrong_pages(nullptr); }

  void guard(const std::optional<SessionId>& session, std::string_view what,
             const std::function<void()>& work) override;

  Connection& db;
  /// Read from the main file since the check began, and not matching their sums.
  std::vector<std::uint32_t> wrong_pages{};
};

/// Everything of the session with this number.
void check_session(CheckRun& run, std::int64_t number);

/// What belongs to no session in particular: blobs, keys, counters; and rows that name
/// a session or a segment that is not there.
void check_rest(CheckRun& run);

/// The totals of a line, from its entries and what was pruned of it; empty if one of
/// its entries is lost, so that they are unknown.
[[nodiscard]] std::optional<Tally> count_tally(Connection& db, Place place);

}  // namespace perdure::sqlite
