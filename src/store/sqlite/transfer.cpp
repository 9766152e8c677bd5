// Moves over SQLite. Whatever opens or ends one is a transaction that is synced; slices of
// facts are not, the end of the move syncs them all.

#include "perdure/store/transfer.hpp"

#include <cstdint>
#include <fmt/format.h>
#include <string>
#include <utility>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/commit.hpp"
#include "perdure/store/facts.hpp"
#include "perdure/store/upkeep.hpp"
#include "rules/fact_slices.hpp"
#include "rules/moves.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/roles.hpp"
#include "sqlite/engine/slices.hpp"
#include "sqlite/retention/garbage.hpp"
#include "sqlite/transit.hpp"

namespace perdure::sqlite {
namespace {

struct MoveRow {
  Ticket ticket = 0;  ///< The last one.
  Ticket since = 0;
  Ticket done = 0;
  FactCursor next;

  [[nodiscard]] Departure numbers() const {
    return {.open = since == 0 ? 0 : ticket, .since = since, .finished = done};
  }
};

MoveRow read_move(Connection& db, Side side, const std::string& peer) {
  Rows rows = db.query("SELECT ticket, since, done, cursor FROM move WHERE peer = ? AND side = ?",
                       peer, number_of(side));
  if (!rows.next()) return {};
  MoveRow row{
      .ticket = rows.number(0), .since = rows.number(1), .done = rows.number(2), .next = {}};
  if (row.since != 0) {
    auto next = rules::fact_cursor_from(rows.text(3));
    if (!next) throw SqliteError(SQLITE_CORRUPT, "how far a move has come cannot be read");
    row.next = *std::move(next);
  }
  return row;
}

void write_move(Connection& db, Side side, const std::string& peer, const MoveRow& row) {
  db.run(
      "INSERT OR REPLACE INTO move (peer, side, ticket, since, done, cursor) "
      "VALUES (?, ?, ?, ?, ?, ?)",
      peer, number_of(side), row.ticket, row.since, row.done, rules::to_text(row.next));
}

Result<MoveRow> require_open(Connection& db, const Passage& passage) {
  MoveRow row = read_move(db, passage.side, passage.peer);
  if (auto current = rules::check_ticket(passage.ticket, row.numbers().open); !current) {
    return forward(current);
  }
  return row;
}

void leave(Connection& db, const std::string& target) {
  db.run(
      "UPDATE session SET moved = 'moved' || substr(moved, length('moving') + 1), "
      "revision = revision + 1 WHERE num IN (SELECT owner FROM transit WHERE side = 0 AND peer = "
      "?)",
      target);
}

void stay(Connection& db, const std::string& target) {
  db.run(
      "UPDATE session SET moved = NULL, revision = revision + 1 "
      "WHERE num IN (SELECT owner FROM transit WHERE side = 0 AND peer = ?)",
      target);
}

// From now on its owners are garbage like any other.
void throw_away(Connection& db, const std::string& source) {
  db.run(
      "DELETE FROM arriving WHERE num IN (SELECT owner FROM transit WHERE side = 1 AND peer = ?)",
      source);
  db.run("DELETE FROM arrived_segment WHERE peer = ?", source);
}

Result<void> end_move(Connection& db, const Passage& passage, MoveEnd how) {
  MoveRow row = read_move(db, passage.side, passage.peer);
  auto is_open = rules::check_end(passage, how, row.numbers());
  if (!is_open) return forward(is_open);
  if (!*is_open) return {};
  if (passage.side == Side::departing) {
    how == MoveEnd::moved ? leave(db, passage.peer) : stay(db, passage.peer);
  } else if (how == MoveEnd::abandoned) {
    throw_away(db, passage.peer);
  } else {
    if (!row.next.is_end()) return fail(ErrorCode::conflict, "not all facts were taken in");
    land(db, passage.peer);
  }
  db.run("DELETE FROM transit WHERE side = ? AND peer = ?", number_of(passage.side), passage.peer);
  if (how == MoveEnd::moved) row.done = passage.ticket;
  row.since = 0;
  write_move(db, passage.side, passage.peer, row);
  return {};
}

Result<void> clear_all_garbage(const Access& access) {
  auto garbage = access.readers.read(
      [](Connection& db) -> Result<std::vector<std::int64_t>> { return list_garbage(db); });
  if (!garbage) return forward(garbage);
  if (garbage->empty()) return {};
  const Progress none;
  Slices slices(access.writer, none);
  if (auto cleared = clear_garbage(slices, *std::move(garbage)); !cleared) return forward(cleared);
  return slices.finish();
}

}  // namespace

Result<Departure> SqliteTransfer::find_departure(const std::string& target) {
  return access_.readers.read([&](Connection& db) -> Result<Departure> {
    return read_move(db, Side::departing, target).numbers();
  });
}

// What is left of removed sessions is cleared away first: it would change under the reader, and
// claims be made after they were read.
Result<Departure> SqliteTransfer::depart(const Destination& to,
                                         const std::vector<SessionId>& sessions) {
  if (auto checked = rules::check(to); !checked) return forward(checked);
  if (auto cleared = clear_all_garbage(access_); !cleared) return forward(cleared);
  return access_.writer.write([&](Connection& db) -> Result<Departure> {
    MoveRow row = read_move(db, Side::departing, to.incarnation);
    ++row.ticket;
    if (row.since == 0) {
      if (auto sent = send_off(db, access_.workers, to, sessions); !sent) return forward(sent);
      row.since = row.ticket;
    }
    write_move(db, Side::departing, to.incarnation, row);
    return row.numbers();
  });
}

Result<Arrival> SqliteTransfer::find_arrival(const std::string& source) {
  return access_.readers.read([&](Connection& db) -> Result<Arrival> {
    const MoveRow row = read_move(db, Side::arriving, source);
    return Arrival{.ticket = row.numbers().open, .last = row.ticket, .next = row.next};
  });
}

Result<Arrival> SqliteTransfer::arrive(const std::string& source, const Departure& departure) {
  return access_.writer.write([&](Connection& db) -> Result<Arrival> {
    MoveRow row = read_move(db, Side::arriving, source);
    auto current = rules::check_arrival(departure, row.ticket, row.since != 0);
    if (!current) return forward(current);
    row.ticket = departure.open;
    if (row.since == 0) row.next = {};
    row.since = departure.since;
    write_move(db, Side::arriving, source, row);
    return Arrival{.ticket = row.ticket, .last = row.ticket, .next = row.next};
  });
}

Result<Passage> SqliteTransfer::show(const std::vector<SessionId>& sessions) {
  if (auto cleared = clear_all_garbage(access_); !cleared) return forward(cleared);
  return access_.readers.read([&](Connection& db) -> Result<Passage> {
    auto owners = list_owners(db, access_.workers, sessions);
    if (!owners) return forward(owners);
    return Passage{.side = Side::staying, .peer = {}, .ticket = 0, .owners = *std::move(owners)};
  });
}

Result<FactSlice> SqliteTransfer::read(const Passage& passage, const FactCursor& from) {
  return access_.readers.read([&](Connection& db) -> Result<FactSlice> {
    if (passage.side != Side::staying) {
      if (auto row = require_open(db, passage); !row) return forward(row);
    }
    return read_facts(db, access_.workers, passage, from);
  });
}

Result<void> SqliteTransfer::take(const Passage& passage, const FactSlice& slice) {
  return access_.writer.write(
      [&](Connection& db) -> Result<void> {
        auto row = require_open(db, passage);
        if (!row) return forward(row);
        auto is_new = rules::check_next(slice, row->next);
        if (!is_new) return forward(is_new);
        if (!*is_new) return {};
        if (auto taken = take_facts(db, passage.peer, slice.facts); !taken) return taken;
        row->next = slice.next;
        write_move(db, Side::arriving, passage.peer, *row);
        return {};
      },
      Sync::later);
}

Result<void> SqliteTransfer::end(const Passage& passage, MoveEnd how) {
  auto ended = access_.writer.write(
      [&](Connection& db) -> Result<void> { return end_move(db, passage, how); });
  if (!ended) return ended;
  if (passage.side == Side::departing || how == MoveEnd::moved) return {};
  return clear_all_garbage(access_);
}

}  // namespace perdure::sqlite
