// What was found, made one store again.

#pragma once

#include "perdure/store/upkeep.hpp"
#include "sqlite/engine/connection.hpp"

namespace perdure::sqlite {

/// Of a file that holds all rows that were found: lost entries, segments and sessions leave something
/// in their place; summary rows that were not found whole say what the log says.
void mend_rows(Connection& db, SalvageReport& report);

/// Counts the sessions, and those of which nothing is amiss; notes what is.
void survey(Connection& db, SalvageReport& report);

}  // namespace perdure::sqlite
