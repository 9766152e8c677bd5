// Moves over SQLite. Which sessions go is decided in the transaction that marks them: no one can
// acquire, fork or remove a relative in between. Slices of facts are not synced; what marks
// or releases sessions is.

#include "store/api/transfer.hpp"

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <expected>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/api/text.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/upkeep.hpp"
#include "rules/calls.hpp"
#include "rules/moves.hpp"
#include "rules/stored_rows.hpp"
#include "sqlite/engine/commit.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/line.hpp"
#include "sqlite/engine/roles.hpp"
#include "sqlite/engine/rows.hpp"
#include "sqlite/engine/slices.hpp"
#include "sqlite/engine/workers.hpp"
#include "sqlite/retention/garbage.hpp"

namespace perdure::sqlite {
namespace {

struct KnownSession {
  std::int64_t number = 0;
  rules::Moved moved;
  std::uint64_t revision = 0;
};

/// Every session of the store, and which belong together.
struct AllSessions {
  std::map<SessionId, KnownSession> sessions;
  std::set<SessionId> here;
  rules::Families families;
};

std::string family_name(const std::map<std::int64_t, std::string>& ids, std::int64_t number) {
  const auto found = ids.find(number);
  return found == ids.end() ? rules::Families::name_of(static_cast<OwnerNumber>(number))
                            : found->second;
}

AllSessions read_all(Connection& db) {
  AllSessions all;
  std::map<std::int64_t, std::string> ids;
  Rows rows = db.query("SELECT num, id, moved, parent, revision FROM session");
  while (rows.next()) {
    const auto id = stored_id<SessionId>(rows.text(1));
    const KnownSession known{.number = rows.integer(0),
                             .moved = rules::moved_from(rows.text(2)),
                             .revision = rows.number(4)};
    ids.emplace(known.number, id.text());
    if (!rows.is_null(3)) all.families.join(id.text(), rows.string(3));
    if (known.moved.is_here()) all.here.insert(id);
    all.sessions.emplace(id, known);
  }
  Rows shared = db.query(
      "SELECT DISTINCT g.session, p.session FROM segment g JOIN segment p ON p.num = g.parent "
      "WHERE p.session <> g.session");
  while (shared.next()) {
    all.families.join(family_name(ids, shared.integer(0)), family_name(ids, shared.integer(1)));
  }
  return all;
}

Result<void> check_free(Connection& db, const Workers& workers, std::int64_t number) {
  Rows rows = db.query(sql(select_session, "WHERE s.num = ?"), number);
  if (!rows.next()) return {};
  const SessionSummary session = read_session(rows, workers);
  if (!session.holder || !session.holder->alive) return {};
  return fail(ErrorCode::lease_held,
              fmt::format("session {} is held by worker {} (host {}, pid {})", session.id.text(),
                          session.holder->worker.text(), session.holder->host, session.holder->pid),
              session.holder->worker.text());
}

// What `read` promises of sessions: all that are here if none are named.
Result<std::map<SessionId, KnownSession>> choose(Connection& db, const Workers& workers,
                                                 const std::vector<SessionId>& sessions) {
  AllSessions all = read_all(db);
  std::set<SessionId> names(sessions.begin(), sessions.end());
  if (sessions.empty()) names = all.here;
  std::map<SessionId, KnownSession> chosen;
  for (const SessionId& id : names) {
    const auto found = all.sessions.find(id);
    if (found == all.sessions.end()) {
      return fail(ErrorCode::not_found, fmt::format("there is no session {}", id.text()),
                  id.text());
    }
    if (auto here = rules::check_here(id, found->second.moved); !here) return forward(here);
    if (auto free = check_free(db, workers, found->second.number); !free) return forward(free);
    chosen.insert(*found);
  }
  if (auto complete = all.families.check_complete(names, all.here); !complete) {
    return forward(complete);
  }
  return chosen;
}

// These sessions, or all that are here, and removed ones whose segments they share.
Result<std::vector<OwnerNumber>> find_owners(Connection& db, const Workers& workers,
                                             const std::vector<SessionId>& sessions) {
  auto chosen = choose(db, workers, sessions);
  if (!chosen) return forward(chosen);
  std::set<OwnerNumber> owners;
  for (const auto& [id, known] : *chosen) owners.insert(static_cast<OwnerNumber>(known.number));
  Rows rows = db.query(
      "WITH RECURSIVE above(num) AS (SELECT parent FROM segment WHERE parent IS NOT NULL AND "
      "session IN (SELECT value FROM json_each(?)) UNION SELECT g.parent FROM segment g JOIN "
      "above ON g.num = above.num WHERE g.parent IS NOT NULL) SELECT DISTINCT session FROM segment "
      "WHERE num IN above",
      fmt::format("[{}]", fmt::join(owners, ",")));
  while (rows.next()) owners.insert(rows.number(0));
  return std::vector<OwnerNumber>(owners.begin(), owners.end());
}

/// Facts in the order of FactKind, those of sessions one session after the other, so that each
/// statement finds its rows by their key. The row of a session that arrives is in another table.
class FactReader {
 public:
  FactReader(Connection& db, const FactSource& source)
      : db_(db),
        source_(source),
        is_arriving_(!source.arrival.from.empty()),
        who_(is_arriving_ ? "(SELECT owner, peer FROM transit WHERE side = 1 AND peer = ?)"
                          : "(SELECT value AS owner FROM json_each(?))"),
        key_(is_arriving_ ? source.arrival.from
                          : fmt::format("[{}]", fmt::join(source.owners, ","))) {}

  void read_sessions(rules::SliceMaker& slice) {
    std::string columns = rules::ColumnNames::of<SessionFact::Row>("s.");
    if (is_arriving_) {
      constexpr std::string_view segment = "s.segment";
      columns.replace(columns.find(segment), segment.size(),
                      "(SELECT num FROM arrived_segment a WHERE a.peer = t.peer AND a.origin = "
                      "s.origin_segment)");
    }
    Rows rows = db_.query(fmt::format("SELECT t.owner, {} FROM {} t LEFT JOIN {} s ON s.num = "
                                      "t.owner WHERE t.owner > ? ORDER BY t.owner LIMIT ?",
                                      columns, who_, is_arriving_ ? "arriving" : "session"),
                          key_, slice.at().group, slice.room());
    while (rows.next()) slice.add(rows.number(0), 0, rules::read_row<SessionFact>(rows));
  }

  void read_segments(rules::SliceMaker& slice) {
    Rows rows = db_.query(fmt::format("SELECT {} FROM segment WHERE num > ? AND session IN (SELECT "
                                      "owner FROM {}) ORDER BY num LIMIT ?",
                                      rules::ColumnNames::of<SegmentFact>(""), who_),
                          slice.at().number, key_, slice.room());
    while (rows.next()) slice.add(0, rows.number(0), rules::read_row<SegmentFact>(rows));
  }

  void read_pruned(rules::SliceMaker& slice) {
    Rows rows = db_.query(
        fmt::format("SELECT {} FROM pruned WHERE (segment, first) > (?, ?) AND segment IN (SELECT "
                    "g.num FROM segment g JOIN {} t ON t.owner = g.session) ORDER BY segment, "
                    "first LIMIT ?",
                    rules::ColumnNames::of<PrunedFact>(""), who_),
        slice.at().group, slice.at().number, key_, slice.room());
    while (rows.next()) {
      slice.add(rows.number(0), rows.number(1), rules::read_row<PrunedFact>(rows));
    }
  }

  // Positions rise along an owner's segments, and no two of these have the same.
  void read_entries(rules::SliceMaker& slice) {
    read_owners(slice, [&](OwnerNumber owner, const FactCursor& after) {
      SegmentId segment = 0;
      while (!slice.is_full() && find_next_segment(owner, segment)) {
        Rows rows = db_.query(sql(select_entry, "WHERE id > ? AND id <= ? ORDER BY id LIMIT ?"),
                              entry_key(segment, after.number), entry_key(segment, position_max),
                              slice.room());
        while (!slice.is_full() && rows.next()) {
          Entry entry = read_entry(rows);
          const Position position = entry.position;
          slice.add(owner, position, std::move(entry));
        }
      }
    });
  }
  void read_receipts(rules::SliceMaker& slice) {
    read_rows<ReceiptFact>(slice, "receipt", "number");
  }
  void read_checkpoints(rules::SliceMaker& slice) {
    read_rows<CheckpointFact>(slice, "checkpoint", "version");
  }
  void read_calls(rules::SliceMaker& slice) { read_rows<CallFact>(slice, "call", "position"); }
  void read_waiting(rules::SliceMaker& slice) {
    read_rows<MessageFact>(slice, "message", "num", "AND consumed = 0");
  }
  void read_consumed(rules::SliceMaker& slice) {
    read_owners(slice, [&](OwnerNumber owner, const FactCursor& after) {
      Rows rows =
          query_rows<MessageFact>(slice, "message", "id", "AND consumed = 1", owner, after.name);
      while (rows.next()) {
        slice.add(owner, rows.string(0), rules::read_row<MessageFact>(rows, 1));
      }
    });
  }

  void read_claims(rules::SliceMaker& slice) {
    if (is_arriving_) return;
    const auto after = digest_from_hex(slice.at().name);
    Rows rows = db_.query(
        "SELECT session, position, 0, NULL, tool, '', effect, key, state, attempts, failures, "
        "fence, intended_at, dispatched_at, NULL, settled_at, '', '', claimed FROM claim WHERE key "
        "> ? ORDER BY key LIMIT ?",
        after ? blob_view(*after) : BlobView{}, slice.room());
    while (rows.next()) {
      slice.add(0, to_hex(rows.digest(7)), ClaimFact{.call = read_call(rows)});
    }
  }

  void read_resources(rules::SliceMaker& slice) {
    if (is_arriving_) return;
    Rows rows = db_.query("SELECT name, fence FROM resource WHERE name > ? ORDER BY name LIMIT ?",
                          slice.at().name, slice.room());
    while (rows.next()) slice.add(0, rows.string(0), rules::read_row<ResourceFact>(rows));
  }

 private:
  // The owner that the cursor names is not done; those after it are read from their beginning.
  template <class Read>
  void read_owners(rules::SliceMaker& slice, const Read& read) {
    const FactCursor at = slice.at();
    auto owner = next_owner(at.group);
    if (owner && *owner == at.group) {
      read(*owner, at);
      owner = next_owner(*owner + 1);
    }
    for (; owner && !slice.is_full(); owner = next_owner(*owner + 1)) read(*owner, FactCursor{});
  }

  std::optional<OwnerNumber> next_owner(OwnerNumber from) {
    if (!is_arriving_) {
      const auto found = std::ranges::lower_bound(source_.owners, from);
      return found == source_.owners.end() ? std::nullopt : std::optional(*found);
    }
    Rows rows = db_.query(
        "SELECT owner FROM transit WHERE side = 1 AND peer = ? AND owner >= ? ORDER BY owner LIMIT "
        "1",
        key_, from);
    if (!rows.next()) return std::nullopt;
    return rows.number(0);
  }

  bool find_next_segment(OwnerNumber owner, SegmentId& segment) {
    Rows rows =
        db_.query("SELECT num FROM segment WHERE session = ? AND num > ? ORDER BY num LIMIT 1",
                  owner, segment);
    if (!rows.next()) return false;
    segment = rows.number(0);
    return true;
  }

  /// `key`, then the columns of the fact: rows of one owner behind `after`, by their key.
  template <class OneFact, class Key>
  Rows query_rows(const rules::SliceMaker& slice, std::string_view table, std::string_view key,
                  std::string_view those, OwnerNumber owner, const Key& after) {
    return db_.query(
        fmt::format("SELECT {0}, {1} FROM {2} WHERE session = ?1 AND {0} > ?2 {3} ORDER BY {0} "
                    "LIMIT ?3",
                    key,
                    rules::ColumnNames::of<OneFact>(
                        "",
                        "(SELECT id FROM session WHERE num = ?1 UNION ALL SELECT id FROM arriving "
                        "WHERE num = ?1)"),
                    table, those),
        owner, after, slice.room());
  }

  template <class OneFact>
  void read_rows(rules::SliceMaker& slice, std::string_view table, std::string_view key,
                 std::string_view those = "") {
    read_owners(slice, [&](OwnerNumber owner, const FactCursor& after) {
      Rows rows = query_rows<OneFact>(slice, table, key, those, owner, after.number);
      while (!slice.is_full() && rows.next()) {
        slice.add(owner, rows.number(0), rules::read_row<OneFact>(rows, 1));
      }
    });
  }

  Connection& db_;
  const FactSource& source_;
  const bool is_arriving_;
  const std::string who_;  ///< The owners, as a table with one parameter:
  const std::string key_;
};

std::unexpected<Error> unknown(std::string_view what, std::uint64_t number) {
  return fail(ErrorCode::corrupted,
              fmt::format("a fact refers to {} {}, which did not come before it", what, number));
}

std::unexpected<Error> held_here(const Call& call, const Call& holder) {
  const std::string name = call_name(holder.session, holder.position);
  return fail(ErrorCode::conflict,
              fmt::format("the key of call {} is held by call {} here",
                          call_name(call.session, call.position), name),
              name);
}

/// What sessions and segments that arrive are called here.
class Numbers {
 public:
  Numbers(Connection& db, const std::string& source) : db_(db), source_(source) {}

  std::optional<std::int64_t> owner_of(OwnerNumber origin) {
    Rows rows = db_.query("SELECT owner FROM transit WHERE side = 1 AND peer = ? AND origin = ?",
                          source_, origin);
    if (!rows.next()) return std::nullopt;
    return rows.integer(0);
  }

  // Nearly always the same as for the fact before.
  std::optional<SegmentId> segment_of(SegmentId origin) {
    if (last_ && last_->first == origin) return last_->second;
    Rows rows =
        db_.query("SELECT num FROM arrived_segment WHERE peer = ? AND origin = ?", source_, origin);
    if (!rows.next()) return std::nullopt;
    last_ = {origin, rows.number(0)};
    return last_->second;
  }

 private:
  Connection& db_;
  const std::string& source_;
  std::optional<std::pair<SegmentId, SegmentId>> last_;
};

/// A fact as a row of this store. It must outlive this.
class RowWriter : public rules::ColumnWriter<RowWriter> {
 public:
  /// `left_out`: fields that the table has no column for.
  explicit RowWriter(Numbers& numbers, std::initializer_list<std::string_view> left_out = {})
      : numbers_(numbers), left_out_(left_out) {}

  template <class Value>
  RowWriter& put(std::string_view name, const Value& value) {
    if (std::ranges::find(left_out_, name) != left_out_.end()) return *this;
    columns_.append(values_.empty() ? "" : ", ").append(name);
    if constexpr (std::same_as<Value, Digest>) {
      values_.emplace_back(blob_view(value));
    } else if constexpr (std::integral<Value>) {
      values_.emplace_back(static_cast<std::int64_t>(value));
    } else if constexpr (std::convertible_to<Value, std::string_view>) {
      values_.emplace_back(std::string_view(value));
    } else {
      values_.emplace_back(value);
    }
    return *this;
  }
  RowWriter& put(std::string_view name, std::string&& tags) {
    tags_ = std::move(tags);
    return put(name, tags_);
  }
  RowWriter& put_body(const Body* body) {
    if (body == nullptr) return put("body", std::nullopt);
    if (body->codec() != Codec::bytes) return put("body", body->bytes());
    return put("body", BlobView{body->bytes()});
  }
  RowWriter& key(const Call& call) {
    return claimed_key_ ? put("key", *claimed_key_) : ColumnWriter::key(call);
  }
  /// Under what key a claim is kept.
  RowWriter& claim_as(const Digest& key) {
    claimed_key_ = key;
    return *this;
  }
  RowWriter& owner(std::string_view name, const OwnerNumber& number) {
    const auto here = numbers_.owner_of(number);
    if (!here) known_ = unknown("session", number);
    return put(name, here.value_or(0));
  }
  RowWriter& segment(std::string_view name, const SegmentId& number) {
    const auto here = numbers_.segment_of(number);
    if (!here) known_ = unknown("segment", number);
    return put(name, here.value_or(0));
  }

  /// Fails: `corrupted` if the fact refers to what did not come before it.
  Result<void> insert(Connection& db, std::string_view into) const {
    if (!known_) return known_;
    const std::vector<std::string_view> marks(values_.size(), "?");
    db.run_with(fmt::format("INSERT {} ({}) VALUES ({})", into, columns_, fmt::join(marks, ", ")),
                values_);
    return {};
  }

 private:
  Numbers& numbers_;
  const std::vector<std::string_view> left_out_;
  std::optional<Digest> claimed_key_;
  std::string columns_;
  std::vector<Connection::Value> values_;
  std::string tags_;
  Result<void> known_;
};

/// Facts become rows. All but the row of the session itself are put in place; nothing finds
/// them without it.
class FactTaker {
 public:
  FactTaker(Connection& db, const std::string& source)
      : db_(db), source_(source), numbers_(db, source) {}

  Result<void> operator()(const SessionFact& fact) {
    const std::int64_t number = next_number(db_, "sessions");
    db_.run("INSERT INTO transit (owner, side, peer, origin) VALUES (?, 1, ?, ?)", number, source_,
            fact.owner);
    db_.run("INSERT INTO garbage VALUES (?, '')", number);
    if (!fact.row) return {};
    const SessionId& id = fact.row->summary.id;
    if (find_session(db_, id) || is_arriving(db_, id)) {
      return fail(ErrorCode::already_exists, fmt::format("session {} exists already", id.text()),
                  id.text());
    }
    RowWriter row(numbers_, {"segment"});
    row.put("num", number).put("origin_segment", fact.row->segment)(*fact.row);
    return row.insert(db_, "INTO arriving");
  }

  Result<void> operator()(const SegmentFact& fact) {
    const auto owner = numbers_.owner_of(fact.owner);
    if (!owner) return unknown("session", fact.owner);
    std::optional<Place> parent;
    if (fact.parent) {
      const auto above = numbers_.segment_of(*fact.parent);
      if (!above) return unknown("segment", *fact.parent);
      parent = Place{*above, fact.parent_position};
    }
    const SegmentId segment = open_segment(db_, *owner, fact.first, parent);
    db_.run("INSERT INTO arrived_segment (peer, origin, num) VALUES (?, ?, ?)", source_,
            fact.segment, segment);
    return {};
  }

  Result<void> operator()(const PrunedFact& fact) { return insert(fact, "INTO pruned"); }
  Result<void> operator()(const ReceiptFact& fact) { return insert(fact, "INTO receipt"); }
  Result<void> operator()(const CheckpointFact& fact) { return insert(fact, "INTO checkpoint"); }

  Result<void> operator()(const Entry& entry) {
    const auto segment = numbers_.segment_of(entry.segment);
    if (!segment) return unknown("segment", entry.segment);
    if (entry.condition != Condition::erased) {
      if (auto there = require_blob(db_, entry.body); !there) return there;
    }
    RowWriter row(numbers_, {"position", "segment"});
    row.put("id", entry_key(*segment, entry.position))(entry);
    return row.insert(db_, "INTO entry");
  }

  Result<void> operator()(const CallFact& fact) {
    const Call& call = fact.call;
    if (auto free = check_key_free(call); !free) return free;
    return insert(fact, "INTO call", {"id"});
  }

  Result<void> operator()(const MessageFact& fact) {
    if (!fact.consumed) {
      if (auto there = require_blob(db_, fact.message.body); !there) return there;
    }
    return insert(fact, "INTO message", {"session_id"});
  }

  // A key that is already held here stays as it is. A claim stays when its arrival is discarded:
  // another one may depend on it.
  Result<void> operator()(const ClaimFact& fact) {
    const Call& call = fact.call;
    if (!call.key && !call.claimed) return unknown("a key of call", call.position);
    if (call.key && find_holder(call)) return {};
    RowWriter row(numbers_, {"id", "args", "result", "provider_id", "deadline", "who", "why"});
    const Digest key = rules::key_of_claim(call);
    row.put("session", call.session.text()).claim_as(key)(fact);
    return row.insert(db_, "OR IGNORE INTO claim");
  }

  Result<void> operator()(const ResourceFact& fact) {
    db_.run(
        "INSERT INTO resource (name, worker, fence, since) VALUES (?1, NULL, ?2, 0) "
        "ON CONFLICT (name) DO UPDATE SET fence = max(fence, ?2)",
        fact.name, fact.fence + rules::fence_jump);
    return {};
  }

 private:
  template <class OneFact>
  Result<void> insert(const OneFact& fact, std::string_view into,
                      std::initializer_list<std::string_view> left_out = {}) {
    RowWriter row(numbers_, left_out);
    row(fact);
    return row.insert(db_, into);
  }

  std::optional<Call> find_holder(const Call& call) {
    if (Rows rows = db_.query(sql(select_call, where_holds_key), blob_view(*call.key));
        rows.next()) {
      return read_call(rows);
    }
    if (Rows claims = db_.query(select_claim, blob_view(*call.key)); claims.next()) {
      return read_call(claims);
    }
    return std::nullopt;
  }

  // What the call itself left when its session was here before, and went, is its own.
  Result<void> check_key_free(const Call& call) {
    if (!call.key || !rules::holds_key(call.state)) return {};
    const auto holder = find_holder(call);
    if (!holder || (holder->session == call.session && holder->position == call.position)) {
      return {};
    }
    return held_here(call, *holder);
  }

  Connection& db_;
  const std::string& source_;
  Numbers numbers_;
};

// Makes sessions of what was taken in.
void land(Connection& db, const std::string& source) {
  db.run(
      "DELETE FROM claim WHERE key IN (SELECT c.key FROM call c JOIN transit t ON t.owner = "
      "c.session WHERE t.side = 1 AND t.peer = ? AND c.key IS NOT NULL AND c.state IN "
      "('dispatched', 'in_doubt', 'succeeded', 'abandoned'))",
      source);
  db.run(fmt::format("INSERT INTO session (num, {}, commits, chain, segment, fence) SELECT s.num, "
                     "{}, s.commits, s.chain, a.num, s.fence + ? FROM transit t JOIN arriving s ON "
                     "s.num = t.owner JOIN arrived_segment a ON a.peer = t.peer AND a.origin = "
                     "s.origin_segment WHERE t.side = 1 AND t.peer = ? ORDER BY s.num",
                     rules::ColumnNames::of<SessionSummary>(""),
                     rules::ColumnNames::of<SessionSummary>("s.")),
         rules::fence_jump, source);
  db.run(
      "DELETE FROM garbage WHERE session IN (SELECT owner FROM transit WHERE side = 1 AND peer = "
      "?)",
      source);
}

constexpr int arriving = 1;  ///< The side of rows in `move` and `transit`.
constexpr int departed = 0;

rules::OpenArrival read_open(Connection& db, const std::string& from) {
  Rows rows = db.query("SELECT ticket, cursor FROM move WHERE peer = ? AND side = ? AND since <> 0",
                       from, arriving);
  if (!rows.next()) return {};
  auto next = rules::fact_cursor_from(rows.text(1));
  if (!next) throw SqliteError(SQLITE_CORRUPT, "how far an arrival has come cannot be read");
  return {.attempt = rows.number(0), .next = *std::move(next)};
}

std::vector<Arrival> list_open(Connection& db) {
  std::vector<Arrival> open;
  Rows rows = db.query("SELECT peer, ticket FROM move WHERE side = ? AND since <> 0", arriving);
  while (rows.next()) open.push_back({.from = rows.string(0), .attempt = rows.number(1)});
  return open;
}

void write_open(Connection& db, const Arrival& arrival, const FactCursor& next) {
  db.run(
      "INSERT OR REPLACE INTO move (peer, side, ticket, since, done, cursor) "
      "VALUES (?, ?, ?, 1, 0, ?)",
      arrival.from, arriving, arrival.attempt, rules::to_text(next));
}

// What is left of its owners is garbage like any other, unless they were released.
void close_arrival(Connection& db, const std::string& from) {
  db.run(
      "DELETE FROM arriving WHERE num IN (SELECT owner FROM transit WHERE side = 1 AND peer = ?)",
      from);
  db.run("DELETE FROM arrived_segment WHERE peer = ?", from);
  db.run("DELETE FROM transit WHERE side = 1 AND peer = ?", from);
  db.run("DELETE FROM move WHERE side = 1 AND peer = ?", from);
}

Result<void> clear_all_garbage(const Access& access) {
  auto garbage = access.readers.read(
      [](Connection& db) -> Result<std::vector<std::int64_t>> { return list_garbage(db); });
  if (!garbage) return forward(garbage);
  if (garbage->empty()) return {};
  Slices slices(access.writer);
  if (auto cleared = clear_garbage(slices, *std::move(garbage)); !cleared) return forward(cleared);
  return slices.finish();
}

// Whatever the target is called by now: one that was restored has another incarnation.
bool was_marked(Connection& db, std::uint64_t attempt) {
  return db.query("SELECT 1 FROM move WHERE side = ? AND done = ?", departed, attempt).next();
}

Result<void> mark(Connection& db, const Workers& workers, const Destination& to,
                  const std::vector<SessionVersion>& sessions) {
  if (sessions.empty()) return rules::not_marked();
  std::vector<SessionId> names;
  names.reserve(sessions.size());
  for (const SessionVersion& version : sessions) names.push_back(version.session);
  auto chosen = choose(db, workers, names);
  if (!chosen) return forward(chosen);
  for (const SessionVersion& version : sessions) {
    const KnownSession& known = chosen->at(version.session);
    if (auto same = rules::check_unchanged(version, known.revision); !same) return same;
    db.run(
        "UPDATE session SET moved = ?, owner = NULL, owned_since = NULL, fence = fence + 1, "
        "revision = revision + 1 WHERE num = ?",
        rules::to_text({.to = to}), known.number);
  }
  return {};
}

}  // namespace

// What is left of removed sessions is cleared away first: it would change under the reader, and
// claims be made after they were read.
Result<FactSlice> SqliteRoles::read(const FactSource& source, const FactCursor& from) {
  if (source.names_sessions()) {
    if (auto cleared = clear_all_garbage(access_); !cleared) return forward(cleared);
  }
  return access_.readers.read([&](Connection& db) -> Result<FactSlice> {
    FactSource known = source;
    if (source.names_sessions()) {
      auto owners = find_owners(db, access_.workers, source.sessions);
      if (!owners) return forward(owners);
      known.owners = *std::move(owners);
    }
    FactSlice slice = rules::read_slice(rules::SliceMaker(from), FactReader(db, known));
    if (!source.arrival.from.empty()) {
      slice.attempt = read_open(db, source.arrival.from).attempt;
      slice.arrivals = list_open(db);
    }
    slice.owners = std::move(known.owners);
    return slice;
  });
}

Result<void> SqliteRoles::take(const Arrival& arrival, const FactSlice& slice) {
  return access_.writer.write(
      [&](Connection& db) -> Result<void> {
        auto is_new = rules::check_next(arrival, slice, read_open(db, arrival.from));
        if (!is_new) return forward(is_new);
        if (!*is_new) return {};
        if (slice.from.is_end()) {
          land(db, arrival.from);
          close_arrival(db, arrival.from);
          return {};
        }
        FactTaker take(db, arrival.from);
        for (const Fact& fact : slice.facts) {
          if (auto taken = std::visit(take, fact); !taken) return taken;
        }
        write_open(db, arrival, slice.next);
        return {};
      },
      slice.from.is_end() ? Sync::now : Sync::later);
}

Result<void> SqliteRoles::discard(const Arrival& arrival) {
  auto discarded = access_.writer.write([&](Connection& db) -> Result<void> {
    const std::uint64_t open = read_open(db, arrival.from).attempt;
    const bool is_it = open != 0 && (arrival.attempt == 0 || arrival.attempt == open);
    if (!is_it) return {};
    close_arrival(db, arrival.from);
    return {};
  });
  if (!discarded) return discarded;
  return clear_all_garbage(access_);
}

Result<void> SqliteRoles::mark_moved(const Destination& to, std::uint64_t attempt,
                                     const std::vector<SessionVersion>& sessions) {
  if (auto checked = rules::check(to); !checked) return checked;
  return access_.writer.write([&](Connection& db) -> Result<void> {
    if (was_marked(db, attempt)) {
      // The process that marked it may have died before its sync: this synced write covers the mark.
      write_frame(db);
      return {};
    }
    auto marked = mark(db, access_.workers, to, sessions);
    if (!marked) return marked;
    db.run(
        "INSERT OR REPLACE INTO move (peer, side, ticket, since, done, cursor) "
        "VALUES (?1, ?2, ?3, 0, ?3, '')",
        to.incarnation, departed, attempt);
    return {};
  });
}

}  // namespace perdure::sqlite
