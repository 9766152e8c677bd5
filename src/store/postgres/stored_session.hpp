// The rows of one session in PostgreSQL, as the check that every backend shares reads them.

#pragma once

#include <cstdint>
#include <memory>

#include "postgres/connection.hpp"
#include "rules/stored_session.hpp"

namespace perdure::postgres {

/// `db` must outlive it. The session's own row need not be there any more.
[[nodiscard]] std::unique_ptr<rules::StoredSession> stored_session(Connection& db,
                                                                   std::int64_t number);

}  // namespace perdure::postgres
