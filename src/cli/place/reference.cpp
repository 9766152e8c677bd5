// An id as it is comes first, then @last, then beginnings of ids, then titles. Only titles are looked
// for by going through the list of sessions, which has no payload.

#include "place/reference.hpp"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "core/api/text.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/read.hpp"
#include "perdure/store/entry.hpp"
#include "perdure/store/point.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"

namespace perdure::cli {
namespace {

constexpr std::size_t beginning_least = 4;
constexpr std::size_t candidates_shown = 8;
constexpr std::size_t search_page = 1000;

using Candidates = std::vector<SessionSummary>;

// The first so many sessions that fit.
Result<Candidates> search(Store& store, SessionQuery query, std::size_t most,
                          const std::function<bool(const SessionSummary&)>& fits) {
  Candidates found;
  bool is_damaged = false;
  query.limit = search_page;
  do {
    auto page = store.sessions().list(query);
    if (!page) return forward(page);
    is_damaged = is_damaged || page->is_damaged;
    for (SessionSummary& row : page->sessions) {
      if (fits(row)) found.push_back(std::move(row));
      if (found.size() == most) return found;
    }
    query.cursor = page->next;
  } while (!query.cursor.empty());
  // What was not found may be among what cannot be read.
  if (found.empty() && is_damaged) {
    return fail(ErrorCode::corrupted,
                "the list of sessions is damaged, and none that can be read fits: perdure check "
                "says where, perdure salvage saves what is left");
  }
  return found;
}

Result<Candidates> candidates_of(Store& store, const std::string& text) {
  if (text == "@last") {
    return search(store, {}, 1, [](const SessionSummary& row) {
      return !row.parent || row.parent->lineage != Lineage::child;
    });
  }
  if (text.size() >= beginning_least && is_utf8(text)) {
    auto found = search(store, {.id_prefix = text}, candidates_shown + 1,
                        [](const SessionSummary& /*row*/) { return true; });
    const bool is_found = found && !found->empty();
    const bool is_damaged = !found && found.error().code == ErrorCode::corrupted;
    if (is_found || (!found && !is_damaged)) return found;
  }
  return search(store, {.contains = text}, candidates_shown + 1,
                [&](const SessionSummary& row) { return row.title == text; });
}

std::optional<std::int64_t> number_from(std::string_view text) {
  std::int64_t number = 0;
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const auto [rest, error] = std::from_chars(begin, end, number);
  if (text.empty() || error != std::errc() || rest != end || number < 0) return std::nullopt;
  return number;
}

// Whether it can only mean a point: "head", "v3", "2", "2.1". What it cannot be may belong to a title.
bool is_point_word(std::string_view word) {
  if (word == "head") return true;
  return number_from(word.substr(word.starts_with('v') ? 1 : 0, word.find('.'))).has_value();
}

Result<PlaceInSession> find_turn(Store& store, PlaceInSession place, std::string_view word) {
  const auto dot = word.find('.');
  const auto turn = number_from(word.substr(0, dot));
  std::optional<std::int64_t> step;
  if (dot != std::string_view::npos) step = number_from(word.substr(dot + 1));
  if (!turn || *turn == 0 || (dot != std::string_view::npos && !step)) {
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("@{} is no point: write @v3 (a version), @2 (after turn 2), @2.1 (after "
                    "step 1 of it) or @head",
                    word));
  }
  auto position = find_step(store, place.session.id, *turn, step);
  if (!position) return forward(position);
  place.point = Point::position(*position);
  return place;
}

}  // namespace

Result<SessionSummary> find_session(Store& store, const std::string& text) {
  // The title of all that have none: a script whose variable is empty must not hit one of them.
  if (text.empty()) {
    return fail(ErrorCode::invalid_argument,
                "which session? an empty word names none; perdure sessions lists them");
  }
  if (const auto id = SessionId::parse(text)) {
    auto row = store.sessions().read(*id);
    if (row || row.error().code != ErrorCode::not_found) return row;
  }
  auto found = candidates_of(store, text);
  if (!found) return forward(found);
  if (found->size() == 1) return std::move(found->front());
  if (found->empty()) {
    const bool is_short = text.size() < beginning_least;
    return fail(ErrorCode::not_found,
                fmt::format("there is no session {}{}; perdure sessions lists them", text,
                            is_short ? " (the beginning of an id has at least 4 characters)" : ""));
  }
  std::string message = fmt::format("{} may mean several sessions:", text);
  for (std::size_t i = 0; i < found->size() && i < candidates_shown; ++i) {
    const SessionSummary& row = (*found)[i];
    message +=
        fmt::format("\n  {}  {}", row.id.text(), row.title.empty() ? row.opening : row.title);
  }
  if (found->size() > candidates_shown) message += "\n  and more";
  return fail(ErrorCode::not_found, message);
}

Result<PlaceInSession> find_point(Store& store, const std::string& text) {
  // An id or a title may hold an "@" of its own.
  const auto at = text.rfind('@');
  const bool is_whole =
      at == std::string::npos || text == "@last" || text.ends_with("@last") ||
      store.sessions().read(SessionId::parse(text).value_or(SessionId())).has_value() ||
      (!is_point_word(std::string_view(text).substr(at + 1)) && find_session(store, text));
  const std::string_view word = is_whole ? "head" : std::string_view(text).substr(at + 1);
  auto session = find_session(store, is_whole ? text : text.substr(0, at));
  if (!session) return forward(session);
  PlaceInSession place{.session = *std::move(session), .is_whole = is_whole};
  place.name = fmt::format("{}@{}", place.session.id.text(), word);
  if (word == "head") return place;
  if (!word.starts_with('v')) return find_turn(store, std::move(place), word);
  const auto version = number_from(word.substr(1));
  if (!version) {
    return fail(ErrorCode::invalid_argument, fmt::format("@{} is no version: write @v3", word));
  }
  place.version = static_cast<Version>(*version);
  place.point = Point::version(*place.version);
  auto checkpoint = store.log().read_checkpoint(place.session.id, *place.version);
  if (!checkpoint) return forward(checkpoint);
  return place;
}

}  // namespace perdure::cli
