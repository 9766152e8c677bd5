// Entries that nothing sees, names, removed sessions, free pages, blobs that nothing names.

#include "sqlite/retention/garbage.hpp"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/upkeep.hpp"
#include "rules/retention.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/line.hpp"
#include "sqlite/engine/roles.hpp"
#include "sqlite/engine/rows.hpp"
#include "sqlite/engine/slices.hpp"
#include "sqlite/engine/workers.hpp"

namespace perdure::sqlite {

// Entries. The rule is rules/retention.hpp; here is what it needs to know of each entry, found
// through indexes, so that a slice costs what it looks at and not the history.

namespace {

struct Candidate {
  Position position = 0;
  std::string channel;
  Fold fold = Fold::append;
  std::uint64_t bytes = 0;
  Tally tally;
  Position replaced_at = rules::never;
};

std::optional<std::int64_t> owner_of(Connection& db, SegmentId segment) {
  return db.find_integer("SELECT session FROM segment WHERE num = ?", segment);
}

// The slice's entries. Their bodies are measured, not read.
std::vector<Candidate> read_entries(Connection& db, const Sweep& sweep) {
  Rows rows = db.query(
      "SELECT id, channel, fold, octet_length(body), turns, steps, tokens_in, tokens_out, "
      "cost_micros FROM entry WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?",
      entry_key(sweep.segment, sweep.from), entry_key(sweep.segment, sweep.to), slice_rows);
  std::vector<Candidate> entries;
  std::uint64_t bytes = 0;
  while (bytes < slice_bytes && rows.next()) {
    entries.push_back({.position = rows.number(0) & position_max,
                       .channel = rows.string(1),
                       .fold = rows.integer(2) == 1 ? Fold::replace : Fold::append,
                       .bytes = rows.number(3),
                       .tally = read_tally(rows, 4)});
    bytes += entries.back().bytes;
  }
  return entries;
}

Position next_replace(Connection& db, const Sweep& sweep, const std::string& channel,
                      Position after) {
  Rows rows = db.query(
      "SELECT id FROM entry WHERE channel = ? AND fold = 1 AND id > ? AND id < ? "
      "ORDER BY id LIMIT 1",
      channel, entry_key(sweep.segment, after), entry_key(sweep.segment, position_max));
  return rows.next() ? rows.number(0) & position_max : rules::never;
}

void find_replacements(Connection& db, const Sweep& sweep, std::vector<Candidate>& entries) {
  std::map<std::string, Position> next;
  for (Candidate& entry : entries | std::views::reverse) {
    auto known = next.find(entry.channel);
    if (known == next.end()) {
      const Position later = next_replace(db, sweep, entry.channel, entries.back().position);
      known = next.emplace(entry.channel, later).first;
    }
    entry.replaced_at = known->second;
    if (entry.fold == Fold::replace) known->second = entry.position;
  }
}

void leave_out_seen(Connection& db, const OwnedSegment& owned, std::vector<Candidate>& entries) {
  std::optional<Position> kept = 0;
  std::erase_if(entries, [&](const Candidate& entry) {
    if (kept && *kept < entry.position) kept = next_kept(db, owned, entry.position);
    return rules::is_seen(entry.position, entry.replaced_at, kept);
  });
}

// What calls need of a slice. It starts from the few calls that can name an entry there, never from
// the forks that share it: those may be thousands.
std::set<Position> needed_by_calls(Connection& db, const OwnedSegment& owned, Position first,
                                   Position last) {
  std::set<Position> needed;
  const auto add = [&](std::int64_t session, Position position) {
    if (position < first || position > last) return;
    if (session != owned.session) {
      const auto place = find_entry(db, session, position);
      if (!place || place->segment != owned.segment) return;
    }
    needed.insert(position);
  };
  // As many as there are tools running in the whole store.
  Rows open = db.query(
      "SELECT session, position, args, result FROM call "
      "WHERE state IN ('intended', 'dispatched', 'in_doubt')");
  while (open.next()) {
    for (const int column : {1, 2, 3}) {
      if (!open.is_null(column)) add(open.integer(0), open.number(column));
    }
  }
  Rows own = db.query(
      "SELECT result FROM call WHERE session = ? AND result BETWEEN ? AND ? AND key IS NOT NULL "
      "AND result IS NOT NULL AND state IN ('succeeded', 'abandoned')",
      owned.session, first, last);
  while (own.next()) needed.insert(own.number(0));
  // The intent is an entry of the fork's own; a result that the fork shares was there before it.
  Rows of_forks = db.query(
      "SELECT session, result FROM call WHERE result BETWEEN ? AND ? AND result < position "
      "AND key IS NOT NULL AND state IN ('succeeded', 'abandoned')",
      first, last);
  while (of_forks.next()) add(of_forks.integer(0), of_forks.number(1));
  return needed;
}

void leave_out_needed(Connection& db, const OwnedSegment& owned, std::vector<Candidate>& entries) {
  if (entries.empty()) return;
  const auto needed = needed_by_calls(db, owned, entries.front().position, entries.back().position);
  std::erase_if(entries, [&](const Candidate& entry) { return needed.contains(entry.position); });
}

// Rows neither overlap nor touch, so those that touch a shadow are neighbours.
rules::Shadow take_touching(Connection& db, SegmentId segment, rules::Shadow shadow) {
  std::vector<Position> taken;
  {
    Rows rows = db.query(
        "SELECT first, upto, entries, turns, steps, tokens_in, tokens_out, cost_micros FROM pruned "
        "WHERE segment = ? AND first <= ? ORDER BY first DESC",
        segment, shadow.upto);
    while (rows.next()) {
      const rules::Shadow there{.first = rows.number(0),
                                .upto = rows.number(1),
                                .entries = rows.number(2),
                                .tally = read_tally(rows, 3)};
      if (!rules::touch(there, shadow)) break;
      shadow = rules::join(there, shadow);
      taken.push_back(there.first);
    }
  }
  for (const Position first : taken) {
    db.run("DELETE FROM pruned WHERE segment = ? AND first = ?", segment, first);
  }
  return shadow;
}

void add_shadow(Connection& db, SegmentId segment, const rules::Shadow& shadow) {
  const rules::Shadow joined = take_touching(db, segment, shadow);
  const Tally& tally = joined.tally;
  db.run("INSERT INTO pruned VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", segment, joined.first,
         joined.upto, joined.entries, tally.turns, tally.steps, tally.tokens_in, tally.tokens_out,
         tally.cost_micros);
}

void drop(Connection& db, Sweep& sweep, const std::vector<Candidate>& entries) {
  std::optional<rules::Shadow> run;
  for (const Candidate& entry : entries) {
    db.run("DELETE FROM entry WHERE id = ?", entry_key(sweep.segment, entry.position));
    ++sweep.freed.items;
    sweep.freed.bytes += entry.bytes;
    const rules::Shadow shadow{
        .first = entry.position, .upto = entry.replaced_at, .entries = 1, .tally = entry.tally};
    if (run && !rules::touch(*run, shadow)) {
      add_shadow(db, sweep.segment, *run);
      run.reset();
    }
    run = run ? rules::join(*run, shadow) : shadow;
  }
  if (run) add_shadow(db, sweep.segment, *run);
}

}  // namespace

bool sweep_slice(Connection& db, Sweep& sweep) {
  const auto session = owner_of(db, sweep.segment);
  if (!session || sweep.from > sweep.to) return false;
  std::vector<Candidate> entries = read_entries(db, sweep);
  if (entries.empty()) return false;
  find_replacements(db, sweep, entries);
  sweep.from = entries.back().position + 1;
  const OwnedSegment owned{.segment = sweep.segment, .session = *session};
  leave_out_seen(db, owned, entries);
  leave_out_needed(db, owned, entries);
  drop(db, sweep, entries);
  return sweep.from <= sweep.to;
}

// Pruning.
//
// Names first, then entries: what a name keeps is only known once it is gone.

namespace {

/// What does not change for the worse while others write: newer versions are kept
/// whatever their number, and newer segments have no past.
struct Plan {
  std::int64_t session = 0;
  Version newest_from = 0;
  Position last = 0;  ///< What comes after it is not looked at, or a busy session has no end.
  std::vector<std::int64_t> segments{};
};

Version newest_from(Connection& db, std::int64_t session, std::uint64_t last) {
  constexpr std::uint64_t many = std::numeric_limits<std::int64_t>::max();
  if (last == 0) return db.number("SELECT version + 1 FROM session WHERE num = ?", session);
  return db.number(
      "SELECT version FROM checkpoint WHERE session = ? ORDER BY version DESC LIMIT 1 OFFSET ?",
      session, std::min(last - 1, many));
}

Result<Plan> make_plan(Connection& db, const SessionId& id, const Keep& keep) {
  auto session = require_session(db, id);
  if (!session) return forward(session);
  return Plan{
      .session = *session,
      .newest_from = newest_from(db, *session, keep.last),
      .last = db.number("SELECT next - 1 FROM session WHERE num = ?", *session),
      .segments = db.integers("SELECT num FROM segment WHERE session = ? ORDER BY num", *session)};
}

// Returns how many.
Result<std::uint64_t> remove_names(Slices& slices, const Plan& plan, const Keep& keep) {
  Version last = 0;
  std::uint64_t removed = 0;
  auto done = slices.run([&](Connection& db) -> Result<bool> {
    std::vector<Version> unwanted;
    int seen = 0;
    {
      Rows rows = db.query(
          "SELECT version, at, label FROM checkpoint WHERE session = ? AND version > ? "
          "AND version < ? ORDER BY version LIMIT ?",
          plan.session, last, plan.newest_from, slice_rows);
      for (; rows.next(); ++seen) {
        Checkpoint checkpoint;
        checkpoint.version = rows.number(0);
        checkpoint.at = rows.time(1);
        checkpoint.label = rows.string(2);
        last = checkpoint.version;
        if (!rules::keeps(keep, plan.newest_from, checkpoint)) unwanted.push_back(last);
      }
    }
    for (const Version version : unwanted) {
      db.run("DELETE FROM checkpoint WHERE session = ? AND version = ?", plan.session, version);
    }
    removed += unwanted.size();
    slices.step.done += static_cast<std::uint64_t>(seen);
    return seen == slice_rows;
  });
  if (!done) return forward(done);
  return removed;
}

}  // namespace

Result<Pruned> SqliteRoles::prune(const SessionId& session, const Keep& keep,
                                  const Progress& progress) {
  Slices slices(access_.writer, progress);
  auto plan = access_.readers.read([&](Connection& db) -> Result<Plan> {
    auto made = make_plan(db, session, keep);
    if (!made) return made;
    slices.step.total =
        made->segments.size() +
        db.number("SELECT count(*) FROM checkpoint WHERE session = ? AND version < ?",
                  made->session, made->newest_from);
    return made;
  });
  if (!plan) return forward(plan);

  auto removed = remove_names(slices, *plan, keep);
  if (!removed) return forward(removed);
  Pruned done{.versions = *removed};
  for (const std::int64_t segment : plan->segments) {
    Sweep sweep{.segment = static_cast<SegmentId>(segment), .to = plan->last};
    auto swept = slices.run_counted([&](Connection& db) { return sweep_slice(db, sweep); });
    if (!swept) return forward(swept);
    done.entries += sweep.freed.items;
    done.bytes += sweep.freed.bytes;
  }
  return slices.finish(done);
}

Result<Pruned> SqliteRoles::forget(const SessionId& session, Version version) {
  Sweep sweep;
  auto named = access_.writer.write([&](Connection& db) -> Result<void> {
    auto number = require_session(db, session);
    if (!number) return forward(number);
    auto place = resolve(db, *number, Point::version(version));
    if (!place) return forward(place);
    const OwnedSegment owned{.segment = place->segment, .session = *number};
    sweep.segment = place->segment;
    sweep.from = kept_before(db, owned, version, place->position) + 1;
    sweep.to = place->position;
    db.run("DELETE FROM checkpoint WHERE session = ? AND version = ?", *number, version);
    return {};
  });
  if (!named) return forward(named);
  Slices slices(access_.writer);
  auto swept = slices.run([&](Connection& db) -> Result<bool> { return sweep_slice(db, sweep); });
  if (!swept) return forward(swept);
  return slices.finish(
      Pruned{.versions = 1, .entries = sweep.freed.items, .bytes = sweep.freed.bytes});
}

// Removed sessions.
//
// The row in `garbage` goes last, so that whatever is cut off is found again. A call
// that holds a key becomes a claim in the transaction in which its row goes: the key is
// never free in between. What has no id leaves no claims: it never was a session here.

namespace {

/// Keys of the rows that one slice may touch, and the bytes in them.
struct RowSlice {
  std::vector<std::int64_t> keys{};
  std::uint64_t bytes = 0;
};

// `rows`: key, bytes.
RowSlice take_slice(Rows rows) {
  RowSlice slice;
  while (slice.bytes < slice_bytes && rows.next()) {
    slice.keys.push_back(rows.integer(0));
    slice.bytes += rows.number(1);
  }
  return slice;
}

void add(Freed& freed, const Freed& more) {
  freed.items += more.items;
  freed.bytes += more.bytes;
}

bool has_child(Connection& db, SegmentId segment) {
  return db.query("SELECT 1 FROM segment WHERE parent = ? LIMIT 1", segment).next();
}

/// One session's rows, in the order in which they may go.
class Clearing {
 public:
  explicit Clearing(std::int64_t session) : session_(session) {}

  /// Says whether there is more to do.
  [[nodiscard]] bool slice(Connection& db) {
    if (clear_rows(db)) return true;
    if (!segment_) segment_ = next_segment(db);
    if (segment_) return clear_segment(db);
    db.run("DELETE FROM garbage WHERE session = ?", session_);
    return false;
  }

  [[nodiscard]] const Freed& freed() const { return freed_; }
  /// Removed sessions that lost a segment that continued theirs.
  [[nodiscard]] const std::vector<std::int64_t>& parents() const { return parents_; }

 private:
  /// One slice of what is not history; false if nothing of it is left.
  bool clear_rows(Connection& db) {
    if (some_gone(
            db,
            "DELETE FROM checkpoint WHERE session = ?1 AND version IN "
            "(SELECT version FROM checkpoint WHERE session = ?1 ORDER BY version LIMIT ?2)")) {
      return true;
    }
    db.run(
        "INSERT OR IGNORE INTO claim SELECT c.key, g.id, c.position, c.tool, c.effect, c.state, "
        "c.attempts, c.failures, c.fence, c.intended_at, c.dispatched_at, c.settled_at, "
        "NULL FROM call c JOIN garbage g ON g.session = c.session WHERE c.session = ?1 "
        "AND c.key IS NOT NULL AND g.id <> '' AND c.state IN ('dispatched', 'in_doubt', "
        "'succeeded', 'abandoned') AND c.position IN "
        "(SELECT position FROM call WHERE session = ?1 ORDER BY position LIMIT ?2)",
        session_, slice_rows);
    return some_gone(db,
                     "DELETE FROM call WHERE session = ?1 AND position IN "
                     "(SELECT position FROM call WHERE session = ?1 ORDER BY position LIMIT ?2)") ||
           some_gone(db,
                     "DELETE FROM receipt WHERE session = ?1 AND batch IN "
                     "(SELECT batch FROM receipt WHERE session = ?1 ORDER BY batch LIMIT ?2)") ||
           clear_messages(db);
  }

  bool some_gone(Connection& db, std::string_view statement) const {
    db.run(statement, session_, slice_rows);
    return db.changes() > 0;
  }

  bool clear_messages(Connection& db) const {
    const auto found =
        take_slice(db.query("SELECT num, octet_length(body) FROM message WHERE session = ? LIMIT ?",
                            session_, slice_rows));
    for (const std::int64_t num : found.keys) db.run("DELETE FROM message WHERE num = ?", num);
    return !found.keys.empty();
  }

  // Branches are younger than what they leave.
  std::optional<Sweep> next_segment(Connection& db) const {
    const auto segment = db.find_integer(
        "SELECT num FROM segment WHERE session = ? AND num < ? ORDER BY num DESC LIMIT 1", session_,
        below_);
    if (!segment) return std::nullopt;
    return Sweep{.segment = static_cast<SegmentId>(*segment), .to = position_max};
  }

  bool clear_segment(Connection& db) {
    const bool is_needed = has_child(db, segment_->segment);
    if (is_needed ? sweep_slice(db, *segment_) : drop_slice(db)) return true;
    add(freed_, segment_->freed);
    if (!is_needed) delete_segment(db);
    below_ = static_cast<std::int64_t>(segment_->segment);
    segment_.reset();
    return true;
  }

  bool drop_slice(Connection& db) {
    const auto found = take_slice(db.query(
        "SELECT id, octet_length(body) FROM entry WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?",
        entry_key(segment_->segment, 0), entry_key(segment_->segment, position_max), slice_rows));
    for (const std::int64_t key : found.keys) db.run("DELETE FROM entry WHERE id = ?", key);
    segment_->freed.items += found.keys.size();
    segment_->freed.bytes += found.bytes;
    return !found.keys.empty();
  }

  void delete_segment(Connection& db) {
    const SegmentId segment = segment_->segment;
    const auto parent = db.find_integer(
        "SELECT p.session FROM segment g JOIN segment p ON p.num = g.parent WHERE g.num = ? "
        "AND p.session <> ? AND NOT EXISTS (SELECT 1 FROM session WHERE num = p.session)",
        segment, session_);
    if (parent) {
      parents_.push_back(*parent);
      db.run("INSERT OR IGNORE INTO garbage VALUES (?, '')", *parent);
    }
    db.run("DELETE FROM pruned WHERE segment = ?", segment);
    db.run("DELETE FROM segment WHERE num = ?", segment);
  }

  const std::int64_t session_;
  std::int64_t below_ = std::int64_t{1} << 32U;
  std::optional<Sweep> segment_;
  Freed freed_;
  std::vector<std::int64_t> parents_;
};

}  // namespace

std::vector<std::int64_t> list_garbage(Connection& db) {
  return db.integers(
      "SELECT session FROM garbage WHERE session NOT IN (SELECT owner FROM transit) ORDER BY "
      "session");
}

Result<Freed> clear_garbage(Slices& slices, std::vector<std::int64_t> sessions) {
  Freed freed;
  slices.step.total += sessions.size();
  while (!sessions.empty()) {
    Clearing clearing(sessions.back());
    sessions.pop_back();
    auto cleared = slices.run_counted([&](Connection& db) { return clearing.slice(db); });
    if (!cleared) return forward(cleared);
    add(freed, clearing.freed());
    sessions.insert(sessions.end(), clearing.parents().begin(), clearing.parents().end());
    slices.step.total += clearing.parents().size();
  }
  return freed;
}

// The session is gone when its row is; everything else follows in slices.

namespace {

Result<void> check_removable(Connection& db, const Workers& workers, std::int64_t session,
                             const SessionId& id) {
  Rows rows = db.query(sql(select_session, "WHERE s.num = ?"), session);
  rows.next();
  const SessionSummary summary = read_session(rows, workers);
  const auto& holder = summary.holder;
  if (holder && holder->alive) {
    return fail(ErrorCode::lease_held,
                fmt::format("session {} is held by worker {} (host {}, pid {})", id.text(),
                            holder->worker.text(), holder->host, holder->pid),
                holder->worker.text());
  }
  // What became of the calls of a session that was moved is the other store's to say.
  if (!summary.moved_to.empty()) return {};
  const auto open = db.find_integer(
      "SELECT min(position) FROM call WHERE state IN ('intended', 'dispatched', 'in_doubt') "
      "AND session = ?",
      session);
  if (!open) return {};
  const std::string name = call_name(id, static_cast<Position>(*open));
  return fail(ErrorCode::conflict,
              fmt::format("the outcome of call {} is unknown: resolve it first", name), name);
}

}  // namespace

Result<Freed> SqliteRoles::remove(const SessionId& session, const Progress& progress) {
  auto removed = access_.writer.write([&](Connection& db) -> Result<std::int64_t> {
    auto number = require_session(db, session);
    if (!number) return forward(number);
    auto free = check_removable(db, access_.workers, *number, session);
    if (!free) return forward(free);
    db.run("INSERT INTO garbage VALUES (?, ?)", *number, session.text());
    db.run("DELETE FROM session WHERE num = ?", *number);
    return *number;
  });
  if (!removed) return forward(removed);
  Slices slices(access_.writer, progress);
  auto freed = clear_garbage(slices, {*removed});
  if (!freed) return freed;
  return slices.finish(*freed);
}

// Free pages go from the end of the file, those in use there move to the front. The file
// itself shrinks when the WAL is written back.

Result<Freed> shrink_file(Slices& slices) {
  Freed freed;
  const std::string statement = fmt::format("PRAGMA incremental_vacuum({})", slice_pages);
  auto shrunk = slices.run([&](Connection& db) -> Result<bool> {
    const std::uint64_t before = db.number("PRAGMA page_count");
    db.execute(statement);
    const std::uint64_t after = db.number("PRAGMA page_count");
    const std::uint64_t left = db.number("PRAGMA freelist_count");
    add(freed,
        {.items = before - after, .bytes = (before - after) * db.number("PRAGMA page_size")});
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

std::vector<Blob> blobs_after(Connection& db, std::int64_t number) {
  Rows rows = db.query(
      "SELECT b.num, b.hash, b.size, max(b.staged_at, coalesce(s.at, b.staged_at)) FROM blob b "
      "LEFT JOIN staged s ON s.blob = b.num WHERE b.num > ? ORDER BY b.num LIMIT ?",
      number, slice_rows);
  std::vector<Blob> blobs;
  while (rows.next()) {
    blobs.push_back({.number = rows.integer(0),
                     .ref = {.digest = rows.digest(1), .size = rows.number(2)},
                     .put_at = rows.time(3)});
  }
  return blobs;
}

}  // namespace

Result<Freed> SqliteRoles::collect_blobs(Duration staged_for, const Progress& progress) {
  if (auto checked = rules::check_grace(staged_for); !checked) return forward(checked);
  Slices slices(access_.writer, progress);
  auto counted = access_.readers.read([&](Connection& db) -> Result<void> {
    slices.step.total = db.number("SELECT count(*) FROM blob");
    return {};
  });
  if (!counted) return forward(counted);
  const Timestamp before = access_.clock.now() - staged_for;
  std::int64_t last = 0;
  Freed freed;
  auto collected = slices.run([&](Connection& db) -> Result<bool> {
    const std::vector<Blob> blobs = blobs_after(db, last);
    std::uint64_t bytes = 0;
    for (const Blob& blob : blobs) {
      if (bytes >= slice_bytes) return true;
      last = blob.number;
      ++slices.step.done;
      if (blob.put_at >= before || is_named(db, blob.ref)) continue;
      db.run("DELETE FROM blob WHERE num = ?", blob.number);
      db.run("DELETE FROM staged WHERE blob = ?", blob.number);
      add(freed, {.items = 1, .bytes = blob.ref.size});
      bytes += blob.ref.size;
    }
    return blobs.size() == slice_rows;
  });
  if (!collected) return forward(collected);
  return slices.finish(freed);
}

}  // namespace perdure::sqlite
