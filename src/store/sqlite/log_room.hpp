// Room in a write-ahead log before it is needed. A log that grows by every commit is a file of
// many small pieces, in the kernel's cache as on the disk, and each sync has to write its new
// length too: overwriting a length of zeros that is there already takes about a tenth off a
// commit (bench/run.py, `session_vs_append`).
//
// SQLite stops reading a log at the first frame that does not belong to it; zeros do not.

#pragma once

#include <sqlite3.h>

namespace perdure::sqlite {

/// Of one open log. It lies in memory of SQLite's, which is never destroyed.
class LogRoom {
 public:
  /// Writes to `log`, and zeros behind what was written if the log ended there: as much again as
  /// the log is long, from 64 KiB up to 1 MiB. Where zeros cannot be written there are none: that
  /// is no failure. Returns a result code of SQLite's. Whoever writes has the only right to, so
  /// nobody else's frames are behind the end.
  int write(sqlite3_file& log, const void* data, int size, sqlite3_int64 offset);

 private:
  sqlite3_int64 length_ = 0;  // The log is this long at least, unless somebody cut it.
};

}  // namespace perdure::sqlite
