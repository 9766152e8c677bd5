// The store as a whole. Sessions and segments that other rows name are looked up by
// skipping from one to the next, never by reading the rows in between.

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <limits>
#include <optional>
#include <string>

#include "core/api/sha256.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/upkeep.hpp"
#include "sqlite/check/check_run.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/line.hpp"

namespace perdure::sqlite {
namespace {

constexpr std::uint64_t chunk_bytes = 1 << 20;

Digest hash_blob(Connection& db, std::int64_t number, std::uint64_t& size) {
  BlobReader blob(db, number);
  size = blob.size();
  Sha256 hash;
  for (std::uint64_t offset = 0; offset < size; offset += chunk_bytes) {
    hash.update(blob.read(offset, std::min(chunk_bytes, size - offset)));
  }
  return hash.finish();
}

// In a damaged page keys may be in any order, and going from one to the next have no end.
void require_progress(std::int64_t before, std::int64_t now) {
  if (now <= before) throw SqliteError(SQLITE_CORRUPT, "its keys are out of order");
}

void check_blob(CheckRun& run, std::int64_t number) {
  Rows rows = run.db.query("SELECT hash, size FROM blob WHERE num = ?", number);
  if (!rows.next()) return;
  ++run.report().blobs;
  std::uint64_t size = 0;
  const Digest name = rows.digest(0);
  const bool is_right = hash_blob(run.db, number, size) == name && rows.number(1) == size &&
                        rows.text(0).size() == 32;
  run.report().bytes += size;
  if (is_right) return;
  run.found.add(Fault::chain, {},
                fmt::format("blob {} does not match its name or its size", to_hex(name)));
}

void check_blobs(CheckRun& run) {
  std::int64_t number = 0;
  while (run.go_on()) {
    {
      Rows rows = run.db.query("SELECT num FROM blob WHERE num > ? ORDER BY num LIMIT 1", number);
      if (!rows.next()) return;
      require_progress(number, rows.integer(0));
      number = rows.integer(0);
    }
    run.guard({}, fmt::format("blob number {}", number), [&] { check_blob(run, number); });
  }
}

bool is_session_known(Connection& db, std::int64_t session) {
  return db
      .query(
          "SELECT 1 FROM session WHERE num = ? UNION ALL SELECT 1 FROM garbage "
          "WHERE session = ?1",
          session)
      .next();
}

// The rows of a removed session go one by one, and its garbage row last.
void check_sessions_named_by(CheckRun& run, std::string_view table) {
  const std::string next =
      fmt::format("SELECT session FROM {} WHERE session > ? ORDER BY session LIMIT 1", table);
  std::int64_t session = std::numeric_limits<std::int64_t>::min();
  while (true) {
    {
      Rows rows = run.db.query(next, session);
      if (!rows.next()) return;
      require_progress(session, rows.integer(0));
      session = rows.integer(0);
    }
    if (is_session_known(run.db, session)) continue;
    run.found.add(
        Fault::reference, {},
        fmt::format("there are rows of session number {} in table {}, and no such session", session,
                    table));
  }
}

// A segment of a removed session stays as long as a fork shares it.
bool is_segment_needed(Connection& db, SegmentId segment) {
  Rows rows = db.query("SELECT session FROM segment WHERE num = ?", segment);
  if (!rows.next()) return false;
  if (is_session_known(db, rows.integer(0))) return true;
  return db.query("SELECT 1 FROM segment WHERE parent = ?", segment).next();
}

void check_segments_named_by_entries(CheckRun& run) {
  std::int64_t key = 0;
  while (true) {
    {
      Rows rows = run.db.query("SELECT id FROM entry WHERE id >= ? ORDER BY id LIMIT 1", key);
      if (!rows.next()) return;
      require_progress(key - 1, rows.integer(0));
      key = rows.integer(0);
    }
    const auto segment = static_cast<SegmentId>(key) >> 32U;
    if (!is_segment_needed(run.db, segment)) {
      run.found.add(Fault::reference, {},
                    fmt::format("there are entries of segment {}, and no such segment", segment));
    }
    if (segment >= 0x7FFF'FFFF) return;
    key = entry_key(segment + 1, 0);
  }
}

void check_counter(CheckRun& run, std::string_view name, std::string_view highest) {
  Rows rows = run.db.query("SELECT value FROM meta WHERE key = ?", name);
  Rows most = run.db.query(highest);
  const bool is_there = rows.next();
  most.next();
  if (is_there && rows.integer(0) >= most.integer(0)) return;
  run.found.add(
      Fault::summary, {},
      fmt::format("the counter of {} is missing or behind: numbers would be used twice", name));
}

void check_counters(CheckRun& run) {
  check_counter(run, "sessions", "SELECT max(num) FROM session");
  check_counter(run, "segments", "SELECT max(num) FROM segment");
  check_counter(run, "workers", "SELECT max(num) FROM worker");
  Rows rows = run.db.query("SELECT value FROM meta WHERE key = 'incarnation'");
  if (rows.next() && rows.text(0).starts_with("sto_")) return;
  run.found.add(Fault::summary, {}, "the store's incarnation is missing");
}

void check_keys(CheckRun& run) {
  Rows rows = run.db.query(
      "SELECT key FROM (SELECT key FROM call WHERE key IS NOT NULL AND state IN "
      "('dispatched', 'in_doubt', 'succeeded', 'abandoned') AND session NOT IN (SELECT num FROM "
      "arriving) UNION ALL SELECT key FROM claim) "
      "GROUP BY key HAVING count(*) > 1");
  while (rows.next()) {
    run.found.add(Fault::ledger, {},
                  fmt::format("key {} is held by more than one call", to_hex(rows.digest(0))));
  }
}

}  // namespace

void check_rest(CheckRun& run) {
  run.guard({}, "the list of segments", [&] { check_shared(run); });
  run.guard({}, "the list of blobs", [&] { check_blobs(run); });
  for (const char* table : {"receipt", "checkpoint", "call", "message"}) {
    run.guard({}, fmt::format("table {}", table), [&] { check_sessions_named_by(run, table); });
  }
  run.guard({}, "table entry", [&] { check_segments_named_by_entries(run); });
  run.guard({}, "the store's counters", [&] { check_counters(run); });
  run.guard({}, "the ledger's keys", [&] { check_keys(run); });
}

}  // namespace perdure::sqlite
