// Words that a row keeps, and the same refusals everywhere.

#include "rules/moves.hpp"

#include <cstddef>
#include <cstdint>
#include <expected>
#include <fmt/format.h>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "store/api/transfer.hpp"

namespace perdure::rules {

namespace {

constexpr std::string_view moving_word = "moving ";
constexpr std::string_view moved_word = "moved ";

}  // namespace

std::string to_text(const Moved& moved) {
  return fmt::format("{}{} {}", moved_word, moved.to.incarnation, moved.to.place);
}

Moved moved_from(std::string_view text) {
  Moved moved;
  if (text.starts_with(moving_word)) return moved;
  std::string_view rest = text;
  if (text.starts_with(moved_word)) rest.remove_prefix(moved_word.size());
  const std::size_t end = rest.find(' ');
  if (end == std::string_view::npos) {
    moved.to.place = text;
    return moved;
  }
  moved.to.incarnation = rest.substr(0, end);
  moved.to.place = rest.substr(end + 1);
  return moved;
}

Result<void> check_here(const SessionId& session, const Moved& moved) {
  if (moved.is_here()) return {};
  const std::string& place = moved.to.place;
  return fail(ErrorCode::conflict,
              fmt::format("session {} was moved to {}: it goes on there", session.text(), place),
              place);
}

Result<void> check(const Destination& to) {
  if (auto name = check_name("incarnation", to.incarnation, name_bytes_max); !name) return name;
  return check_name("place", to.place, text_bytes_max);
}

Result<void> check_unchanged(const SessionVersion& before, std::uint64_t revision) {
  if (before.revision == revision) return {};
  return fail(ErrorCode::conflict,
              fmt::format("session {} changed while it was being moved", before.session.text()),
              before.session.text());
}

Result<bool> check_next(const Arrival& arrival, const FactSlice& slice, const OpenArrival& open) {
  if (open.attempt == arrival.attempt) {
    if (slice.from == open.next) return true;
    if (slice.next == open.next) return false;
    return fail(ErrorCode::conflict, "these facts are not the next ones of the arrival");
  }
  if (slice.from != FactCursor{}) {
    return fail(ErrorCode::lease_lost, "the arrival was discarded: another attempt has begun");
  }
  if (open.attempt == 0) return true;
  return fail(ErrorCode::conflict, "another arrival from there is under way");
}

Result<void> check_release(const Arrival& arrival, const OpenArrival& open) {
  if (open.attempt == 0 || open.attempt != arrival.attempt) {
    return fail(ErrorCode::lease_lost, "there is no such arrival: it was discarded or released");
  }
  if (open.next.is_end()) return {};
  return fail(ErrorCode::conflict, "not all facts were taken in");
}

std::unexpected<Error> not_marked() {
  return fail(ErrorCode::conflict, "that attempt did not mark its sessions as moved");
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
    return fail(
        ErrorCode::conflict,
        fmt::format("session {} cannot move without session {}: forks, children and sessions "
                    "that share a log move together",
                    family->second.text(), session.text()),
        session.text());
  }
  return {};
}

}  // namespace perdure::rules
