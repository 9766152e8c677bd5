// SQLite's own handle for parts of a value.

#include "sqlite/blob_reader.hpp"

#include <cstdint>
#include <string>

#include "sqlite/connection.hpp"

namespace perdure::sqlite {

BlobReader::BlobReader(Connection& db, std::int64_t number) : db_(db) {
  sqlite3_blob* opened = nullptr;
  const int code = sqlite3_blob_open(db.handle(), "main", "blob", "bytes", number, 0, &opened);
  blob_.reset(opened);
  // What is no blob any more is as damaged as one that cannot be read.
  if (code == SQLITE_ERROR) throw SqliteError(SQLITE_CORRUPT, sqlite3_errmsg(db.handle()));
  if (code != SQLITE_OK) throw error_of(db.handle(), code);
}

std::uint64_t BlobReader::size() const {
  return static_cast<std::uint64_t>(sqlite3_blob_bytes(blob_.get()));
}

std::string BlobReader::read(std::uint64_t offset, std::uint64_t count) {
  std::string bytes(count, '\0');
  const int code = sqlite3_blob_read(blob_.get(), bytes.data(), static_cast<int>(count),
                                     static_cast<int>(offset));
  if (code != SQLITE_OK) throw error_of(db_.handle(), code);
  return bytes;
}

}  // namespace perdure::sqlite
