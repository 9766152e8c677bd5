// libpq tells its version as a number: 150014 is 15.14.

#include "perdure/store/backends.hpp"

#include <fmt/format.h>
#include <libpq-fe.h>
#include <sqlite3.h>
#include <vector>

#include "postgres/migration.hpp"
#include "sqlite/schema.hpp"

namespace perdure {

std::vector<BuiltBackend> built_backends() {
  constexpr int major = 10'000;
  const int libpq = PQlibVersion();
  return {{.name = "sqlite",
           .library = fmt::format("SQLite {}", sqlite3_libversion()),
           .format = sqlite::format_number},
          {.name = "postgres",
           .library = fmt::format("libpq {}.{}", libpq / major, libpq % major),
           .format = postgres::format_number},
          {.name = "memory"}};
}

}  // namespace perdure
