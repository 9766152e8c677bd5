// Words that a row keeps, and refusals in the same words everywhere.

#include "rules/moves.hpp"

#include <cstddef>
#include <fmt/format.h>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/facts.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/transfer.hpp"

namespace perdure::rules {

namespace {

constexpr std::string_view moving_word = "moving ";
constexpr std::string_view moved_word = "moved ";

}  // namespace

std::string to_text(const Moved& moved) {
  if (moved.is_here()) return {};
  return fmt::format("{}{} {}", moved.moving ? moving_word : moved_word, moved.to.incarnation,
                     moved.to.place);
}

Moved moved_from(std::string_view text) {
  Moved moved;
  moved.moving = text.starts_with(moving_word);
  std::string_view rest = text;
  if (moved.moving || text.starts_with(moved_word)) rest.remove_prefix(text.find(' ') + 1);
  const std::size_t end = rest.find(' ');
  if (end == std::string_view::npos) {
    moved.to.place = text;
    return moved;
  }
  moved.to.incarnation = rest.substr(0, end);
  moved.to.place = rest.substr(end + 1);
  return moved;
}

void show(const Moved& moved, SessionSummary& summary) {
  summary.moved_to = moved.to.place;
  summary.moving = moved.moving;
}

Result<void> check_here(const SessionId& session, const Moved& moved) {
  if (moved.is_here()) return {};
  const std::string& place = moved.to.place;
  return fail(
      ErrorCode::conflict,
      moved.moving
          ? fmt::format("session {} is being moved to {}: finish the copy or abandon it",
                        session.text(), place)
          : fmt::format("session {} was moved to {}: it goes on there", session.text(), place),
      place);
}

Result<void> check_at_rest(const SessionId& session, const Moved& moved) {
  return moved.moving ? check_here(session, moved) : Result<void>();
}

Result<void> check(const Destination& to) {
  if (auto name = check_name("incarnation", to.incarnation, name_bytes_max); !name) return name;
  return check_name("place", to.place, text_bytes_max);
}

Result<void> check_free_to_go(const SessionId& session, const Moved& moved, const Destination& to) {
  return moved.to.incarnation == to.incarnation ? Result<void>() : check_here(session, moved);
}

Result<void> check_ticket(Ticket ticket, Ticket last) {
  if (ticket == last && ticket != 0) return {};
  return fail(ErrorCode::lease_lost,
              fmt::format("this is not the present ticket of the move: {}, not {}", last, ticket),
              fmt::format("{}", last));
}

Result<void> check_arrival(const Departure& departure, Ticket last, bool is_open) {
  if (departure.open <= last) return check_ticket(departure.open, is_open ? last : 0);
  if (!is_open || last >= departure.since) return {};
  return fail(ErrorCode::conflict,
              fmt::format("an earlier move from there, of ticket {}, is still open", last));
}

// A ticket that is neither open nor finished is of a move that was abandoned.
Result<bool> check_end(const Passage& passage, MoveEnd how, const Departure& move) {
  if (move.open == 0 && passage.ticket != 0) {
    const bool was_moved = passage.ticket <= move.finished;
    if (was_moved == (how == MoveEnd::moved)) return false;
    return fail(ErrorCode::conflict,
                was_moved ? "the move was finished" : "the move was abandoned");
  }
  auto current = check_ticket(passage.ticket, move.open);
  if (!current) return forward(current);
  return true;
}

Result<bool> check_next(const FactSlice& slice, const FactCursor& next) {
  if (slice.from == next) return true;
  if (slice.next == next) return false;
  return fail(ErrorCode::conflict, "these facts are not the next ones of the move");
}

// A control character: no id has one.
std::string Families::name_of(OwnerNumber removed) { return fmt::format("\x01{}", removed); }

std::string Families::root_of(const std::string& name) {
  const auto found = above_.find(name);
  if (found == above_.end()) return name;
  const std::string root = root_of(found->second);
  found->second = root;
  return root;
}

void Families::join(const std::string& one, const std::string& other) {
  const std::string root = root_of(one);
  const std::string above = root_of(other);
  if (root != above) above_[root] = above;
}

Result<void> Families::check_complete(const std::set<SessionId>& leaving,
                                      const std::set<SessionId>& here) {
  std::map<std::string, SessionId> families;
  for (const SessionId& session : leaving) families.emplace(root_of(session.text()), session);
  for (const SessionId& session : here) {
    if (leaving.contains(session)) continue;
    const auto family = families.find(root_of(session.text()));
    if (family == families.end()) continue;
    return fail(ErrorCode::conflict,
                fmt::format("session {} cannot go without session {}: forks, children and whoever "
                            "shares a log go together",
                            family->second.text(), session.text()),
                session.text());
  }
  return {};
}

}  // namespace perdure::rules
