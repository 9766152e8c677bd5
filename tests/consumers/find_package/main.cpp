// Includes all of Perdure by its one header. Uses a Perdure store and the system's SQLite in one
// process; each must get its own SQLite.
// Argument: a folder for the store.

#include <cstdio>
#include <sqlite3.h>
#include <string>
#include <string_view>

#include <perdure/perdure.hpp>

static_assert(std::string_view(PERDURE_VERSION_STRING) == FOUND_VERSION,
              "the package is of the version of its headers");
#if PERDURE_VERSION_MAJOR == 0 && PERDURE_VERSION_MINOR < 1
#error "this needs Perdure 0.1"
#endif

namespace {

// The system's SQLite in earnest, while the store is open.
std::string version_by_sql() {
  std::string version;
  sqlite3* db = nullptr;
  if (sqlite3_open(":memory:", &db) == SQLITE_OK) {
    const auto keep = [](void* out, int, char** values, char**) {
      *static_cast<std::string*>(out) = values[0];
      return 0;
    };
    sqlite3_exec(db, "SELECT sqlite_version()", keep, &version, nullptr);
  }
  sqlite3_close(db);
  return version;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const auto store = perdure::open_store(std::string(argv[1]) + "/consumer.db");
  if (!store) {
    std::printf("no store: %s\n", store.error().message.c_str());
    return 1;
  }
  const auto id = perdure::mint<perdure::SessionTag>(perdure::random_ids());
  perdure::NewSession session;
  session.id = id;
  const auto created = (*store)->sessions().create(session);

  std::printf("the program's SQLite is %s, its header %s\n", version_by_sql().c_str(),
              SQLITE_VERSION);
  if (sqlite3_libversion() != std::string(SQLITE_VERSION) || version_by_sql() != SQLITE_VERSION)
    return 1;

  const auto found = (*store)->sessions().read(id);
  std::printf("session %s: %s\n", id.text().c_str(), found ? "found again" : "lost");
  return created && found && *created == *found ? 0 : 1;
}
