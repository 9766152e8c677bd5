// The store as a whole. Each question is one statement, over whole tables if it must.

#include <cstdint>
#include <fmt/format.h>
#include <string>
#include <string_view>

#include "core/api/sha256.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/upkeep.hpp"
#include "postgres/client/connection.hpp"
#include "postgres/client/params.hpp"
#include "postgres/client/rows.hpp"
#include "postgres/upkeep/check_run.hpp"

namespace perdure::postgres {
namespace {

constexpr std::int64_t blobs_at_once = 500;
constexpr std::int64_t chunks_at_once = 8;

void check_blob(CheckRun& run, const Rows& blob) {
  ++run.report().blobs;
  Sha256 hash;
  std::uint64_t size = 0;
  std::int64_t next = 0;
  bool is_gapless = true;
  for (bool more = true; more;) {
    Rows chunks = run.db.query(
        "SELECT number, bytes FROM perdure.chunk WHERE hash = $1 AND number >= $2 ORDER BY number "
        "LIMIT $3",
        Params::of(BytesView{blob.text(0)}, next, chunks_at_once));
    more = static_cast<std::int64_t>(chunks.count()) == chunks_at_once;
    while (chunks.next()) {
      is_gapless = is_gapless && chunks.integer(0) == next;
      next = chunks.integer(0) + 1;
      size += chunks.text(1).size();
      hash.update(chunks.text(1));
    }
  }
  run.report().bytes += size;
  const Digest name = blob.digest(0);
  if (is_gapless && hash.finish() == name && blob.number(1) == size && blob.text(0).size() == 32) {
    return;
  }
  run.found.add(Fault::chain, {},
                fmt::format("blob {} does not match its name or its size", to_hex(name)));
}

void check_blobs(CheckRun& run) {
  std::string last;
  while (run.go_on()) {
    Rows blobs =
        run.db.query("SELECT hash, size FROM perdure.blob WHERE hash > $1 ORDER BY hash LIMIT $2",
                     Params::of(BytesView{last}, blobs_at_once));
    if (blobs.count() == 0) return;
    while (blobs.next()) {
      last = blobs.string(0);
      check_blob(run, blobs);
    }
  }
}

void check_chunks(CheckRun& run) {
  Rows rows = run.db.query(
      "SELECT DISTINCT c.hash FROM perdure.chunk c "
      "WHERE NOT EXISTS (SELECT FROM perdure.blob b WHERE b.hash = c.hash)");
  while (rows.next()) {
    run.found.add(
        Fault::reference, {},
        fmt::format("there are chunks of blob {}, and no such blob", to_hex(rows.digest(0))));
  }
}

// The rows of a removed session go one by one, and its garbage row last. From one session to the next
// by the index, never through the rows in between.
void check_sessions_named_by(CheckRun& run, std::string_view table) {
  Rows rows = run.db.query(fmt::format(
      "WITH RECURSIVE named(num) AS (SELECT min(session) FROM perdure.{0} UNION ALL SELECT (SELECT "
      "min(t.session) FROM perdure.{0} t WHERE t.session > n.num) FROM named n WHERE n.num IS NOT "
      "NULL) SELECT n.num FROM named n WHERE n.num IS NOT NULL "
      "AND NOT EXISTS (SELECT FROM perdure.session s WHERE s.num = n.num) "
      "AND NOT EXISTS (SELECT FROM perdure.garbage g WHERE g.session = n.num)",
      table));
  while (rows.next()) {
    run.found.add(
        Fault::reference, {},
        fmt::format("there are rows of session number {} in table {}, and no such session",
                    rows.integer(0), table));
  }
}

void check_segments_named_by_entries(CheckRun& run) {
  Rows rows = run.db.query(
      "SELECT DISTINCT e.segment FROM perdure.entry e WHERE NOT EXISTS (SELECT FROM "
      "perdure.segment "
      "g WHERE g.num = e.segment AND g.session = e.session)");
  while (rows.next()) {
    run.found.add(
        Fault::reference, {},
        fmt::format("there are entries of segment {}, and no such segment", rows.number(0)));
  }
}

// A segment of a removed session stays as long as a fork shares it.
void check_segments_of_nobody(CheckRun& run) {
  Rows rows = run.db.query(
      "SELECT g.num FROM perdure.segment g "
      "WHERE NOT EXISTS (SELECT FROM perdure.session s WHERE s.num = g.session) "
      "AND NOT EXISTS (SELECT FROM perdure.garbage x WHERE x.session = g.session) "
      "AND NOT EXISTS (SELECT FROM perdure.segment c WHERE c.parent = g.num)");
  while (rows.next()) {
    run.found.add(
        Fault::reference, {},
        fmt::format("segment {} belongs to no session, and no fork shares it", rows.number(0)));
  }
}

void check_counter(CheckRun& run, std::string_view name) {
  Rows rows = run.db.query(
      fmt::format("SELECT q.last_value >= coalesce((SELECT max(num) FROM perdure.{0}), 0) "
                  "FROM perdure.{0}_num q",
                  name));
  if (rows.next() && rows.boolean(0)) return;
  run.found.add(
      Fault::summary, {},
      fmt::format("the counter of {}s is missing or behind: numbers would be used twice", name));
}

void check_counters(CheckRun& run) {
  for (const std::string_view name : {"session", "segment", "worker", "message"}) {
    check_counter(run, name);
  }
  Rows rows = run.db.query("SELECT value FROM perdure.meta WHERE key = 'incarnation'");
  if (rows.next() && rows.text(0).starts_with("sto_")) return;
  run.found.add(Fault::summary, {}, "the store's incarnation is missing");
}

void check_keys(CheckRun& run) {
  Rows rows = run.db.query(
      "SELECT key FROM (SELECT c.key FROM perdure.call c WHERE c.key IS NOT NULL AND c.state IN "
      "('dispatched', 'in_doubt', 'succeeded', 'abandoned') AND EXISTS (SELECT FROM "
      "perdure.session s WHERE s.num = c.session) UNION ALL SELECT k.key FROM perdure.claim k "
      "WHERE k.session IS NOT NULL) held GROUP BY key HAVING count(*) > 1");
  while (rows.next()) {
    run.found.add(Fault::ledger, {},
                  fmt::format("key {} is held by more than one call", to_hex(rows.digest(0))));
  }
}

// A claim is what keeps others from a key: one for each call that holds its key, and no other.
void check_claims(CheckRun& run) {
  Rows rows = run.db.query(
      "SELECT c.key, true FROM perdure.call c WHERE c.key IS NOT NULL "
      "AND c.state IN ('dispatched', 'in_doubt', 'succeeded', 'abandoned') AND NOT EXISTS "
      "(SELECT FROM perdure.claim k WHERE k.key = c.key) "
      "UNION ALL SELECT k.key, false FROM perdure.claim k WHERE k.session IS NULL AND NOT EXISTS "
      "(SELECT FROM perdure.call c WHERE c.session = k.holder AND c.position = k.position "
      "AND c.key = k.key AND c.state IN ('dispatched', 'in_doubt', 'succeeded', 'abandoned'))");
  while (rows.next()) {
    run.found.add(Fault::ledger, {},
                  fmt::format("key {} is {}", to_hex(rows.digest(0)),
                              rows.boolean(1) ? "held by a call, and not claimed"
                                              : "claimed for a call that does not hold it"));
  }
}

}  // namespace

void check_rest(CheckRun& run) {
  check_shared(run);
  if (!run.report().is_complete) return;
  run.guard({}, "the list of blobs", [&] { check_blobs(run); });
  if (!run.report().is_complete) return;
  run.guard({}, "table chunk", [&] { check_chunks(run); });
  for (const char* table : {"receipt", "checkpoint", "call", "message"}) {
    run.guard({}, fmt::format("table {}", table), [&] { check_sessions_named_by(run, table); });
  }
  run.guard({}, "table entry", [&] { check_segments_named_by_entries(run); });
  run.guard({}, "table segment", [&] { check_segments_of_nobody(run); });
  run.guard({}, "the store's counters", [&] { check_counters(run); });
  run.guard({}, "the ledger's keys", [&] { check_keys(run); });
  run.guard({}, "the ledger's claims", [&] { check_claims(run); });
}

}  // namespace perdure::postgres
