// What the parts of a check of one SQLite file share.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/upkeep.hpp"
#include "rules/session_check.hpp"
#include "sqlite/engine/connection.hpp"

namespace perdure::sqlite {

class CheckRun final : public rules::CheckRun {
 public:
  CheckRun(Connection& connection, const std::optional<Timestamp>& wal_lost,
           const Progress& progress)
      : rules::CheckRun(progress), db(connection), wal_lost_at(wal_lost) {
    db.note_wrong_pages(&wrong_pages);
  }
  ~CheckRun() override { db.note_wrong_pages(nullptr); }

  void guard(const std::optional<SessionId>& session, std::string_view what,
             const std::function<void()>& work) override;

  Connection& db;
  /// When this opening found that the WAL lacks commits; the file may know of another.
  const std::optional<Timestamp> wal_lost_at;
  /// Read from the main file since the check began, and not matching their sums.
  std::vector<std::uint32_t> wrong_pages{};
};

/// By the first page of its tree, what it is: "table entry".
using TreeNames = std::map<std::uint32_t, std::string>;
[[nodiscard]] TreeNames names_by_root(Connection& db);

/// Every page of the main file against its sum. Nothing to be done in a file without sums.
void check_pages(CheckRun& run);

/// Whether commits were lost with the WAL, as far as any opening found.
void check_wal(CheckRun& run);

/// The file's own structure, and the definitions of its tables.
void check_file(CheckRun& run);

/// Everything of the session with this number.
void check_session(CheckRun& run, std::int64_t number);

/// What forks share of sessions that were removed.
void check_shared(CheckRun& run);

/// What belongs to no session in particular: blobs, keys, counters; and rows that name
/// a session or a segment that is not there.
void check_rest(CheckRun& run);

}  // namespace perdure::sqlite
