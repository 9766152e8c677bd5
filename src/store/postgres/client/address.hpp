// Where a PostgreSQL store is: `postgres://user@host:port/database?schema=…`.
//
// Our own options are taken out of the location. Everything else is libpq's, and is handed to it
// as it was written: sslmode, passfile, target_session_attrs, …
//
// A password may be anywhere in a location, also where it was put by mistake. So what people
// get to see is `shown`, and a location that cannot be read is not repeated to them.

#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"

namespace perdure::postgres {

enum class Migrate {
  automatic,  ///< Who opens a store brings it to this build's format.
  verify,     ///< Refuse to open a store that is not of this build's format.
};

/// What libpq connects by.
using Settings = std::map<std::string, std::string>;

/// One server of possibly several.
struct Host {
  Settings settings{};
};

struct Address {
  std::string shown{};             ///< The location without its secrets.
  std::vector<Host> hosts{};       ///< In the order they are tried. At least one.
  std::string schema = "perdure";  ///< `schema=`: not quoted.
  std::size_t pool = 8;            ///< `pool=`: connections at most.
  bool notify = true;              ///< `notify=on|off`.
  int partitions = 0;              ///< `partitions=`: of the large tables, when they are made.
  Migrate migrate = Migrate::automatic;  ///< `migrate=auto|verify`.
  Duration connect_wait{5'000};          ///< `connect_timeout=` (seconds), for each host.
  /// Not of the location: how long a statement waits for a lock before the server refuses it, so that
  /// its user can repeat it, and others in its transaction can continue. Not behind a pooler.
  Duration lock_wait{2'000};
};

/// With several hosts, and nothing said about it, only one that can be written to is taken.
/// Fails: `invalid_argument`, with words that hold no part of a password; `unavailable` without libpq.
[[nodiscard]] Result<Address> parse_address(std::string_view location);

/// Whether a location is meant for this backend, readable or not.
[[nodiscard]] bool is_postgres(std::string_view location);

}  // namespace perdure::postgres
