// libpq tells its version as a number: 150014 is 15.14.

#include <fmt/format.h>
#include <libpq-fe.h>
#include <sqlite3.h>
#include <string>
#include <vector>

#include "postgres/migration.hpp"
#include "sqlite/schema.hpp"
#include "store/api/location.hpp"

namespace perdure {
namespace {

std::string libpq_words() {
  constexpr int major = 10'000;
  const int version = PQlibVersion();
  return fmt::format("libpq {}.{}", version / major, version % major);
}

}  // namespace

std::vector<BuiltBackend> built_backends() {
  return {{.name = "sqlite",
           .library = fmt::format("SQLite {}", sqlite3_libversion()),
           .format = sqlite::format_number},
          {.name = "postgres", .library = libpq_words(), .format = postgres::format_number},
          {.name = "memory"}};
}

}  // namespace perdure
