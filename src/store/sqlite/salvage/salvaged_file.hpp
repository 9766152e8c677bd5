// The new file that a salvage writes: rows as they are found, then what is missing
// between them.

#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "perdure/core/id.hpp"
#include "perdure/store/upkeep.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/salvage/row_finder.hpp"

namespace perdure::sqlite {

class SalvagedFile {
 public:
  /// Makes an empty store there. Nothing of it is safe before finish().
  SalvagedFile(const std::string& path, IdSource& ids);

  /// Keeps the row, unless one with its key is there already.
  void add(const FoundRow& row);

  /// Keeps a row of an earlier moment aside, for mend() to use where it is the only one.
  void add_earlier(const FoundRow& row);

  /// Makes one store of the rows: lost entries, segments and sessions leave something in
  /// their place; summary rows that were not found whole say what the log says.
  void mend(SalvageReport& report);

  /// From here on the file is a store, once it is synced. Says what a check of it would find.
  void finish(IdSource& ids, SalvageReport& report);

 private:
  struct Finalizer {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  using Statement = std::unique_ptr<sqlite3_stmt, Finalizer>;

  void insert(const FoundRow& row, const std::string& into);
  sqlite3_stmt* statement_for(const Shape& shape, const std::string& into);

  std::atomic<std::uint64_t> rows_read_ = 0;
  Connection db_;
  std::map<std::string, Statement> inserts_;  ///< By the table they write to.
};

/// In a file that holds all rows that were found; see SalvagedFile::mend.
void mend_rows(Connection& db, SalvageReport& report);
/// The part of it that has nothing to do with the log.
void mend_rest(Connection& db);
/// Counts the sessions, and those of which nothing is amiss; notes what is.
void survey(Connection& db, SalvageReport& report);

}  // namespace perdure::sqlite
