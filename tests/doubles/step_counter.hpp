// Counts the work of SQLite itself, in steps of its machine: some for each row it walks,
// also for those that no statement hands out, because a condition leaves them out or a
// sum takes them up.
//
// On every connection that is opened while it exists; so make it before the store. One
// at a time in a process.

#pragma once

#include <cstdint>

namespace perdure {

class SqliteStepCounter {
 public:
  SqliteStepCounter();
  ~SqliteStepCounter();
  SqliteStepCounter(const SqliteStepCounter&) = delete;
  SqliteStepCounter& operator=(const SqliteStepCounter&) = delete;

  [[nodiscard]] std::uint64_t steps() const;
};

}  // namespace perdure
