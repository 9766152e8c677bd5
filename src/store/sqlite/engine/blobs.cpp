// Blobs over SQLite: rows of the same file, read in place where only a part is wanted.

#include <algorithm>
#include <cstdint>
#include <expected>
#include <fmt/format.h>
#include <optional>
#include <string>

#include "perdure/core/error.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/roles.hpp"

namespace perdure::sqlite {
namespace {

std::unexpected<Error> missing(const BlobRef& ref) {
  const std::string name = to_hex(ref.digest);
  return fail(ErrorCode::not_found, fmt::format("there is no blob {}", name), name);
}

std::optional<std::int64_t> find_blob(Connection& db, const BlobRef& ref) {
  Rows rows =
      db.query("SELECT num FROM blob WHERE hash = ? AND size = ?", blob_view(ref.digest), ref.size);
  if (!rows.next()) return std::nullopt;
  return rows.integer(0);
}

std::string read_range(Connection& db, std::int64_t number, std::uint64_t offset,
                       std::uint64_t size) {
  BlobReader blob(db, number);
  const std::uint64_t begin = std::min(offset, blob.size());
  return blob.read(begin, std::min(size, blob.size() - begin));
}

}  // namespace

Result<BlobRef> SqliteRoles::put(std::string_view bytes) {
  if (bytes.size() > blob_bytes_max) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("a blob may have {} bytes, this has {}", blob_bytes_max, bytes.size()));
  }
  const BlobRef ref{.digest = sha256(bytes), .size = bytes.size()};
  return access_.writer.write([&](Connection& db) -> Result<BlobRef> {
    const Timestamp now = access_.clock.now();
    if (const auto known = find_blob(db, ref)) {
      db.run("INSERT OR REPLACE INTO staged (blob, at) VALUES (?, ?)", *known, now);
    } else {
      db.run("INSERT INTO blob (hash, size, staged_at, bytes) VALUES (?, ?, ?, ?)",
             blob_view(ref.digest), ref.size, now, BlobView{bytes});
    }
    return ref;
  });
}

Result<std::string> SqliteRoles::read(const BlobRef& ref, std::uint64_t offset,
                                      std::uint64_t size) {
  return access_.readers.read([&](Connection& db) -> Result<std::string> {
    const auto number = find_blob(db, ref);
    if (!number) return missing(ref);
    return read_range(db, *number, offset, size);
  });
}

}  // namespace perdure::sqlite
