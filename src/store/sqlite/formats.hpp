// The steps that lead from an empty file to the present format, one file each.

#pragma once

#include "perdure/core/id_source.hpp"
#include "sqlite/connection.hpp"

namespace perdure::sqlite {

void make_format_1(Connection& connection, IdSource& ids);
void make_format_2(Connection& connection, IdSource& ids);
void make_format_3(Connection& connection, IdSource& ids);

/// For a person with the plain sqlite3 shell; replaces those of an older format.
void make_views(Connection& connection);

}  // namespace perdure::sqlite
