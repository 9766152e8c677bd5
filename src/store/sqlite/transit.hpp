// Facts out of an SQLite store and into one (transfer.hpp), each inside the caller's transaction.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/store/facts.hpp"
#include "perdure/store/transfer.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/workers.hpp"

namespace perdure::sqlite {

/// As it stands in the tables.
[[nodiscard]] constexpr int number_of(Side side) { return side == Side::departing ? 0 : 1; }

/// Marks the sessions as moving, and writes down who goes.
/// Fails: as `Transfer::depart` says.
[[nodiscard]] Result<void> send_off(Connection& db, const Workers& workers, const Destination& to,
                                    const std::vector<SessionId>& sessions);

/// The numbers of these sessions, and of removed ones whose segments they share, in order.
/// Fails: as `Transfer::show` says.
[[nodiscard]] Result<std::vector<OwnerNumber>> list_owners(Connection& db, const Workers& workers,
                                                           const std::vector<SessionId>& sessions);
/// Numbers as a list that SQL can read.
[[nodiscard]] std::string json_list(const std::vector<OwnerNumber>& numbers);

[[nodiscard]] FactSlice read_facts(Connection& db, const Workers& workers, const Passage& passage,
                                   const FactCursor& from);

/// Fails: as `Transfer::take` says.
[[nodiscard]] Result<void> take_facts(Connection& db, const std::string& source,
                                      const std::vector<Fact>& facts);

/// Makes sessions of what was taken in.
void land(Connection& db, const std::string& source);

}  // namespace perdure::sqlite
