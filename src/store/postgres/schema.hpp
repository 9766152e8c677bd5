// The tables and functions of a store: whether they are there, and making them.

#pragma once

#include <cstdint>
#include <string>

#include "perdure/core/error.hpp"
#include "perdure/core/id_source.hpp"
#include "postgres/address.hpp"
#include "postgres/client.hpp"

namespace perdure::postgres {

inline constexpr std::int64_t format_number = 1;

struct Opened {
  std::string incarnation{};
  std::string engine{};  ///< "PostgreSQL 15.8".
};

/// Makes sure that the schema holds a store of this build's format, and makes or migrates it if
/// `create` and the address allow it: in one transaction, by one starter at a time.
/// Fails: `not_found` if there is none; `unsupported` for another format; `corrupted` if the schema
/// holds something else; `unavailable`, also without the right to make it.
[[nodiscard]] Result<Opened> open_schema(Client& client, bool create, IdSource& ids);

}  // namespace perdure::postgres
