// Moves of a memory store. Taking up a move again needs both stores, so it is only ever
// another call of the same process.

#include "perdure/store/transfer.hpp"

#include <fmt/format.h>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "memory/roles.hpp"
#include "memory/state.hpp"
#include "memory/transit.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/facts.hpp"
#include "rules/moves.hpp"

namespace perdure::memory {

namespace {

void set_moved(SessionTable& table, const rules::Moved& moved) {
  table.moved = moved;
  rules::show(moved, table.row);
  ++table.row.revision;
}

Result<DepartureRow*> open_departure(State& state, const Passage& passage) {
  DepartureRow& row = state.departures[passage.peer];
  auto current = rules::check_ticket(passage.ticket, row.numbers.open);
  if (!current) return forward(current);
  return &row;
}

Result<ArrivalRow*> open_arrival(State& state, const Passage& passage) {
  ArrivalRow& row = state.arrivals[passage.peer];
  auto current = rules::check_ticket(passage.ticket, row.is_open ? row.last : 0);
  if (!current) return forward(current);
  return &row;
}

Result<void> end_departure(State& state, const Passage& passage, MoveEnd how) {
  DepartureRow& row = state.departures[passage.peer];
  auto is_open = rules::check_end(passage, how, row.numbers);
  if (!is_open) return forward(is_open);
  if (!*is_open) return {};
  for (auto& [id, table] : state.sessions) {
    if (!table.moved.moving || table.moved.to.incarnation != passage.peer) continue;
    rules::Moved moved = how == MoveEnd::moved ? table.moved : rules::Moved{};
    moved.moving = false;
    set_moved(table, moved);
  }
  Departure& numbers = row.numbers;
  if (how == MoveEnd::moved) numbers.finished = passage.ticket;
  numbers.open = 0;
  numbers.since = 0;
  row.owners.clear();
  state.note_change();
  return {};
}

Result<void> end_arrival(State& state, const Passage& passage, MoveEnd how) {
  ArrivalRow& row = state.arrivals[passage.peer];
  const Departure numbers{.open = row.is_open ? row.last : 0, .since = 0, .finished = row.finished};
  auto is_open = rules::check_end(passage, how, numbers);
  if (!is_open) return forward(is_open);
  if (!*is_open) return {};
  if (how == MoveEnd::moved) {
    if (!row.next.is_end()) return fail(ErrorCode::conflict, "not all facts were taken in");
    land(state, row);
  }
  ArrivalRow ended;
  ended.last = row.last;
  ended.finished = how == MoveEnd::moved ? passage.ticket : row.finished;
  row = std::move(ended);
  state.note_change();
  return {};
}

}  // namespace

Result<Departure> MemoryTransfer::find_departure(const std::string& target) {
  return base_.state.with([&](State& state) -> Result<Departure> {
    const auto found = state.departures.find(target);
    return found == state.departures.end() ? Departure{} : found->second.numbers;
  });
}

Result<Departure> MemoryTransfer::depart(const Destination& to,
                                         const std::vector<SessionId>& sessions) {
  auto checked = rules::check(to);
  if (!checked) return forward(checked);
  return base_.state.with([&](State& state) -> Result<Departure> {
    DepartureRow& row = state.departures[to.incarnation];
    if (row.numbers.open == 0) {
      auto chosen = choose(state, to, sessions, base_.clock.uptime());
      if (!chosen) return forward(chosen);
      for (const SessionId& id : *chosen) {
        SessionTable& table = state.sessions.at(id);
        table.grant.owner.reset();
        ++table.grant.fence;
        set_moved(table, {.to = to, .moving = true});
      }
      row.owners = owners_of(state, *chosen);
      row.numbers.since = row.last + 1;
    }
    row.numbers.open = ++row.last;
    state.note_change();
    return row.numbers;
  });
}

Result<Arrival> MemoryTransfer::find_arrival(const std::string& source) {
  return base_.state.with([&](State& state) -> Result<Arrival> {
    const auto found = state.arrivals.find(source);
    if (found == state.arrivals.end()) return Arrival{};
    const ArrivalRow& row = found->second;
    return Arrival{.ticket = row.is_open ? row.last : 0, .last = row.last, .next = row.next};
  });
}

Result<Arrival> MemoryTransfer::arrive(const std::string& source, const Departure& departure) {
  return base_.state.with([&](State& state) -> Result<Arrival> {
    ArrivalRow& row = state.arrivals[source];
    auto current = rules::check_arrival(departure, row.last, row.is_open);
    if (!current) return forward(current);
    row.last = departure.open;
    row.is_open = true;
    state.note_change();
    return Arrival{.ticket = row.last, .last = row.last, .next = row.next};
  });
}

Result<Passage> MemoryTransfer::show(const std::vector<SessionId>& sessions) {
  return base_.state.with([&](State& state) -> Result<Passage> {
    auto chosen = choose(state, {}, sessions, base_.clock.uptime());
    if (!chosen) return forward(chosen);
    const std::set<OwnerNumber> owners = owners_of(state, *chosen);
    return Passage{
        .side = Side::staying, .peer = {}, .ticket = 0, .owners = {owners.begin(), owners.end()}};
  });
}

Result<FactSlice> MemoryTransfer::read(const Passage& passage, const FactCursor& from) {
  return base_.state.with([&](State& state) -> Result<FactSlice> {
    if (passage.side == Side::arriving) {
      auto row = open_arrival(state, passage);
      if (!row) return forward(row);
      return read_arriving(**row, from);
    }
    if (passage.side == Side::staying) {
      return read_departing(state, {passage.owners.begin(), passage.owners.end()}, from);
    }
    auto row = open_departure(state, passage);
    if (!row) return forward(row);
    return read_departing(state, (*row)->owners, from);
  });
}

Result<void> MemoryTransfer::take(const Passage& passage, const FactSlice& slice) {
  return base_.state.with([&](State& state) -> Result<void> {
    auto row = open_arrival(state, passage);
    if (!row) return forward(row);
    auto is_new = rules::check_next(slice, (*row)->next);
    if (!is_new) return forward(is_new);
    if (!*is_new) return {};
    auto taken = take_in(state, **row, slice);
    if (!taken) return taken;
    (*row)->next = slice.next;
    state.note_change();
    return {};
  });
}

Result<void> MemoryTransfer::end(const Passage& passage, MoveEnd how) {
  return base_.state.with([&](State& state) -> Result<void> {
    return passage.side == Side::departing ? end_departure(state, passage, how)
                                           : end_arrival(state, passage, how);
  });
}

}  // namespace perdure::memory
