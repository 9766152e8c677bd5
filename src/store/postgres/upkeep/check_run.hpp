// What the parts of a check of one PostgreSQL store share.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "perdure/core/id.hpp"
#include "perdure/store/upkeep.hpp"
#include "postgres/client/connection.hpp"
#include "rules/session_check.hpp"

namespace perdure::postgres {

/// The savepoint of a check's transaction to which an unreadable row takes it back.
inline constexpr std::string_view set_check_savepoint = "SAVEPOINT perdure_check";
inline constexpr std::string_view undo_to_check_savepoint = "ROLLBACK TO SAVEPOINT perdure_check";

class CheckRun final : public rules::CheckRun {
 public:
  CheckRun(Connection& connection, const Progress& progress)
      : rules::CheckRun(progress), db(connection) {}

  /// An error undoes the transaction to its savepoint, and with it what is open: so the outermost
  /// guard ends what it guards, and those inside let it pass.
  void guard(const std::optional<SessionId>& session, std::string_view what,
             const std::function<void()>& work) override;

  Connection& db;

 private:
  bool is_guarded_ = false;
};

/// Everything of the session with this number.
void check_session(CheckRun& run, std::int64_t number);

/// What forks share of sessions that were removed.
void check_shared(CheckRun& run);

/// What belongs to no session in particular: blobs, keys, counters; and rows that name
/// a session or a segment that is not there.
void check_rest(CheckRun& run);

}  // namespace perdure::postgres
