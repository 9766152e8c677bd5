// Blobs over PostgreSQL: a row, and its bytes in chunks, put in one transaction.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "postgres/client/connection.hpp"
#include "postgres/client/params.hpp"
#include "postgres/client/values.hpp"
#include "postgres/operations/roles.hpp"

namespace perdure::postgres {
namespace {

constexpr std::size_t chunk_bytes = std::size_t{1} << 20U;

std::unexpected<Error> missing(const BlobRef& ref) {
  const std::string name = to_hex(ref.digest);
  return fail(ErrorCode::not_found, fmt::format("there is no blob {}", name), name);
}

bool is_there(Connection& db, const BlobRef& ref) {
  return db
      .query("SELECT FROM perdure.blob WHERE hash = $1 AND size = $2",
             Params::of(ref.digest, sendable(ref.size)))
      .next();
}

// A few chunks at a time: a blob is large, and so is what libpq makes of a result.
std::string read_range(Connection& db, const BlobRef& ref, std::uint64_t begin, std::uint64_t end) {
  constexpr std::uint64_t chunks_at_once = 8;
  std::string bytes;
  bytes.reserve(end - begin);
  for (std::uint64_t at = begin; at < end;) {
    const std::uint64_t first = at / chunk_bytes;
    Rows rows = db.query(
        "SELECT bytes FROM perdure.chunk WHERE hash = $1 AND number >= $2 AND number < $3 "
        "ORDER BY number",
        Params::of(ref.digest, first, first + chunks_at_once));
    std::uint64_t chunk = first;
    for (; rows.next() && at < end; ++chunk) {
      const std::string_view part =
          rows.text(0).substr(std::min<std::size_t>(at - chunk * chunk_bytes, rows.text(0).size()));
      bytes.append(part.substr(0, end - at));
      at = (chunk + 1) * chunk_bytes;
    }
    if (chunk == first) break;  // Chunks are missing; the hash will tell.
  }
  return bytes;
}

}  // namespace

Result<BlobRef> PostgresRoles::put(std::string_view bytes) {
  if (bytes.size() > blob_bytes_max) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("a blob may have {} bytes, this has {}", blob_bytes_max, bytes.size()));
  }
  const BlobRef ref{.digest = sha256(bytes), .size = bytes.size()};
  const bool synced = access_.is_synced(Sync::now);
  auto touched = access_.call("touch_blob", access_.now(), synced, ref.digest, sendable(ref.size));
  if (!touched) return forward(touched);
  if (touched->next() && touched->boolean(0)) return ref;
  std::vector<Params> params;
  params.push_back(Params::of(access_.now(), synced, ref.digest, sendable(ref.size)));
  for (std::size_t at = 0; at < bytes.size(); at += chunk_bytes) {
    params.push_back(Params::of(ref.digest, static_cast<std::int64_t>(at / chunk_bytes),
                                BytesView{bytes.substr(at, chunk_bytes)}));
  }
  std::vector<Statement> statements;
  statements.reserve(params.size());
  for (const Params& part : params) {
    statements.push_back({.sql = statements.empty() ? "SELECT perdure.put_blob($1, $2, $3, $4)"
                                                    : "SELECT perdure.put_chunk($1, $2, $3)",
                          .params = &part});
  }
  auto put = access_.client.write_all(statements);
  if (!put) return forward(put);
  access_.watcher.note_write();
  return ref;
}

Result<std::string> PostgresRoles::read(const BlobRef& ref, std::uint64_t offset,
                                        std::uint64_t size) {
  return access_.client.read([&](Connection& db) -> Result<std::string> {
    if (!is_there(db, ref)) return missing(ref);
    const std::uint64_t begin = std::min(offset, ref.size);
    return read_range(db, ref, begin, begin + std::min(size, ref.size - begin));
  });
}

}  // namespace perdure::postgres
