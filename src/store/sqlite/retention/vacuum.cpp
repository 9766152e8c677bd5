// Giving back space: free pages, then blobs that no entry names.

#include "sqlite/retention/vacuum.hpp"

#include <cstdint>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/upkeep.hpp"
#include "rules/retention.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/roles.hpp"
#include "sqlite/engine/slices.hpp"
#include "sqlite/retention/garbage.hpp"

namespace perdure::sqlite {

// Free pages go from the end of the file, those in use there move to the front. The file
// itself shrinks when the WAL is written back.

namespace {

std::uint64_t count_of(Connection& db, std::string_view statement) {
  Rows rows = db.query(statement);
  return rows.next() ? rows.number(0) : 0;
}

}  // namespace

Result<Freed> shrink_file(Slices& slices) {
  Freed freed;
  const std::string statement = fmt::format("PRAGMA incremental_vacuum({})", slice_pages);
  auto shrunk = slices.run([&](Connection& db) -> Result<bool> {
    const std::uint64_t before = count_of(db, "PRAGMA page_count");
    db.execute(statement);
    const std::uint64_t after = count_of(db, "PRAGMA page_count");
    const std::uint64_t left = count_of(db, "PRAGMA freelist_count");
    freed.items += before - after;
    freed.bytes += (before - after) * count_of(db, "PRAGMA page_size");
    slices.step.done += before - after;
    slices.step.total = slices.step.done + left;
    return left > 0 && before > after;
  });
  if (!shrunk) return forward(shrunk);
  return freed;
}

Result<Freed> SqliteRoles::vacuum(const Progress& progress) {
  Slices slices(access_.writer, progress);
  auto garbage = access_.readers.read(
      [](Connection& db) -> Result<std::vector<std::int64_t>> { return list_garbage(db); });
  if (!garbage) return forward(garbage);
  if (auto cleared = clear_garbage(slices, *std::move(garbage)); !cleared) return forward(cleared);

  auto freed = shrink_file(slices);
  if (!freed) return forward(freed);
  if (auto finished = slices.finish(); !finished) return forward(finished);
  // Where readers still need the WAL, the file shrinks a little later.
  if (auto emptied = access_.writer.empty_wal(); !emptied) return forward(emptied);
  return *freed;
}

// A blob is looked for by its reference text in the indexes of bodies, and deleted in
// the same transaction: no commit can name it in between.

namespace {

struct Blob {
  std::int64_t number = 0;
  BlobRef ref;
  Timestamp put_at{};
};

bool is_named(Connection& db, const BlobRef& ref) {
  const Body body = Body::from_blob(ref);
  const std::string& text = body.bytes();
  return db.query("SELECT 1 FROM entry WHERE codec = 2 AND body = ? LIMIT 1", text).next() ||
         db.query("SELECT 1 FROM message WHERE codec = 2 AND body = ? LIMIT 1", text).next();
}

class Collection {
 public:
  explicit Collection(Timestamp before) : before_(before) {}

  [[nodiscard]] bool slice(Connection& db, Step& step) {
    const std::vector<Blob> blobs = next_blobs(db);
    std::uint64_t bytes = 0;
    for (const Blob& blob : blobs) {
      if (bytes >= slice_bytes) return true;
      last_ = blob.number;
      ++step.done;
      if (blob.put_at >= before_ || is_named(db, blob.ref)) continue;
      db.run("DELETE FROM blob WHERE num = ?", blob.number);
      db.run("DELETE FROM staged WHERE blob = ?", blob.number);
      ++freed_.items;
      freed_.bytes += blob.ref.size;
      bytes += blob.ref.size;
    }
    return blobs.size() == slice_rows;
  }

  [[nodiscard]] const Freed& freed() const { return freed_; }

 private:
  std::vector<Blob> next_blobs(Connection& db) const {
    Rows rows = db.query(
        "SELECT b.num, b.hash, b.size, max(b.staged_at, coalesce(s.at, b.staged_at)) FROM blob b "
        "LEFT JOIN staged s ON s.blob = b.num WHERE b.num > ? ORDER BY b.num LIMIT ?",
        last_, slice_rows);
    std::vector<Blob> blobs;
    while (rows.next()) {
      blobs.push_back({.number = rows.integer(0),
                       .ref = {.digest = rows.digest(1), .size = rows.number(2)},
                       .put_at = rows.time(3)});
    }
    return blobs;
  }

  const Timestamp before_;
  std::int64_t last_ = 0;
  Freed freed_;
};

}  // namespace

Result<Freed> SqliteRoles::collect_blobs(Duration staged_for, const Progress& progress) {
  if (auto checked = rules::check_grace(staged_for); !checked) return forward(checked);
  Slices slices(access_.writer, progress);
  auto counted = access_.readers.read([&](Connection& db) -> Result<void> {
    Rows rows = db.query("SELECT count(*) FROM blob");
    if (rows.next()) slices.step.total = rows.number(0);
    return {};
  });
  if (!counted) return forward(counted);
  Collection collection(access_.clock.now() - staged_for);
  auto collected =
      slices.run([&](Connection& db) -> Result<bool> { return collection.slice(db, slices.step); });
  if (!collected) return forward(collected);
  if (auto finished = slices.finish(); !finished) return forward(finished);
  return collection.freed();
}

}  // namespace perdure::sqlite
