// SQLite calls a progress handler where its programs loop.

#include "doubles/step_counter.hpp"

#include <atomic>
#include <sqlite3.h>

namespace perdure {
namespace {

std::atomic<std::uint64_t> total = 0;

int count(void* /*unused*/) {
  total.fetch_add(1, std::memory_order_relaxed);
  return 0;
}

int watch(sqlite3* connection, char** /*message*/, const sqlite3_api_routines* /*unused*/) {
  sqlite3_progress_handler(connection, 1, count, nullptr);
  return SQLITE_OK;
}

// The interface takes a function of any kind.
void (*as_extension())() { return reinterpret_cast<void (*)()>(watch); }

}  // namespace

SqliteStepCounter::SqliteStepCounter() { sqlite3_auto_extension(as_extension()); }

SqliteStepCounter::~SqliteStepCounter() { sqlite3_cancel_auto_extension(as_extension()); }

std::uint64_t SqliteStepCounter::steps() const { return total; }

}  // namespace perdure
