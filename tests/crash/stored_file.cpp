// The chain is recomputed from nothing but what the rows hold.

#include "crash/stored_file.hpp"

#include <atomic>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <vector>

#include "perdure/store/store.hpp"
#include "store/rules/chain.hpp"
#include "store/sqlite/engine/connection.hpp"
#include "store/sqlite/engine/line.hpp"
#include "store/sqlite/engine/rows.hpp"
#include "store/sqlite/opening/opening.hpp"

namespace perdure {
namespace {

using sqlite::Connection;
using sqlite::Rows;

struct StoredCommit {
  Batch batch;
  Timestamp at{};
  SegmentId segment = 0;
  Position first = 0;
  std::uint64_t count = 0;
  Position head = 0;
  Digest chain{};
};

std::string integrity(Connection& db) {
  Rows rows = db.query("PRAGMA integrity_check");
  if (!rows.next()) return "integrity_check says nothing";
  return rows.text(0) == "ok" ? "" : rows.string(0);
}

std::vector<StoredCommit> commits_of(Connection& db, std::int64_t session) {
  Rows rows = db.query(
      "SELECT batch, at, segment, first, count, head, chain FROM receipt WHERE session = ? "
      "ORDER BY number",
      session);
  std::vector<StoredCommit> commits;
  while (rows.next()) {
    StoredCommit commit{.batch = {},
                        .at = rows.time(1),
                        .segment = rows.number(2),
                        .first = rows.number(3),
                        .count = rows.number(4),
                        .head = rows.number(5),
                        .chain = rows.digest(6)};
    commit.batch.id = sqlite::stored_id<BatchId>(rows.text(0));
    commits.push_back(std::move(commit));
  }
  return commits;
}

// The entries as they stand in the file. A hash that does not match its body, a
// missing row or one too many shows in the chain.
void add_entries(Connection& db, StoredCommit& commit) {
  if (commit.count == 0) return;
  Rows rows = db.query(
      "SELECT channel, kind, fold, codec, body, turns, steps, tokens_in, tokens_out, cost_micros, "
      "at FROM entry WHERE id BETWEEN ? AND ? ORDER BY id",
      sqlite::entry_key(commit.segment, commit.first),
      sqlite::entry_key(commit.segment, commit.first + commit.count - 1));
  while (rows.next()) {
    commit.batch.entries.push_back(
        {.channel = rows.string(0),
         .kind = rows.string(1),
         .fold = static_cast<Fold>(rows.integer(2)),
         .body = Body::from_stored(static_cast<Codec>(rows.integer(3)), rows.string(4)),
         .tally = sqlite::read_tally(rows, 5),
         .at = rows.time(10)});
  }
}

// What was pruned or erased on purpose cannot be hashed any more.
bool is_forgotten(Connection& db, const StoredCommit& commit) {
  if (commit.count == 0) return false;
  const Position last = commit.first + commit.count - 1;
  return db.query("SELECT 1 FROM pruned WHERE segment = ? AND first <= ? AND upto > ?",
                  commit.segment, last, commit.first)
             .next() ||
         db.query("SELECT 1 FROM entry WHERE id BETWEEN ? AND ? AND body IS NULL",
                  sqlite::entry_key(commit.segment, commit.first),
                  sqlite::entry_key(commit.segment, last))
             .next();
}

// Where the first commit of a segment goes on from.
Position branch_point(Connection& db, SegmentId segment) {
  Rows rows = db.query("SELECT parent_position FROM segment WHERE num = ?", segment);
  return rows.next() ? rows.number(0) : 0;
}

std::string find_broken_link(Connection& db, std::int64_t session, const SessionId& id,
                             const Digest& head) {
  Digest chain = rules::chain_start(id);
  SegmentId segment = 0;
  Position from = 0;
  for (StoredCommit& commit : commits_of(db, session)) {
    add_entries(db, commit);
    if (commit.segment != segment) from = branch_point(db, commit.segment);
    const auto sealed = rules::seal(commit.batch, commit.at);
    if (!is_forgotten(db, commit) &&
        rules::chain_next(chain, sealed.seal, from, commit.first) != commit.chain) {
      return fmt::format("session {}: the chain breaks at batch {}", id.text(),
                         commit.batch.id.text());
    }
    segment = commit.segment;
    from = commit.head;
    chain = commit.chain;
  }
  if (chain == head) return {};
  return fmt::format("session {}: its row does not end the chain", id.text());
}

std::string find_broken_chain(Connection& db) {
  Rows rows = db.query("SELECT num, id, chain FROM session");
  while (rows.next()) {
    auto broken = find_broken_link(db, rows.integer(0), sqlite::stored_id<SessionId>(rows.text(1)),
                                   rows.digest(2));
    if (!broken.empty()) return broken;
  }
  return {};
}

std::string check(const std::string& location) {
  auto store = open_store(location);
  if (!store) return store.error().message;
  const auto report = (*store)->upkeep().check();
  if (!report) return report.error().message;
  return report->is_sound() ? "" : report->damage.at(0).what;
}

}  // namespace

std::optional<std::string> file_of(const std::string& location) {
  if (location.starts_with("postgres")) return std::nullopt;
  return location.substr(location.starts_with("sqlite:") ? 7 : 0);
}

std::string find_damage(const std::string& location) {
  const auto file = file_of(location);
  if (!file) return check(location);
  const std::string& path = *file;
  std::atomic<std::uint64_t> rows_read = 0;
  std::vector<std::uint32_t> wrong_pages;
  try {
    Connection db(path, "", SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, &rows_read);
    db.note_wrong_pages(&wrong_pages);
    if (auto damage = integrity(db); !damage.empty()) return damage;
    // It has read every page in use.
    if (!wrong_pages.empty()) return fmt::format("page {} has a wrong sum", wrong_pages[0]);
    if (sqlite::find_loss(db)) return "the store says that its WAL lost commits";
    return find_broken_chain(db);
  } catch (const sqlite::SqliteError& error) {
    return error.what();
  }
}

}  // namespace perdure
