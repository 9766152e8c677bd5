// Rows are matched in plain C++, so that no backend has to put text of users into its own query
// language.

#include "rules/queries.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>

#include "core/api/json_text.hpp"
#include "core/api/sha256.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"

namespace perdure::rules {

namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool contains(std::string_view text, std::string_view part) {
  const auto found = std::ranges::search(text, part, {}, lower, lower);
  return part.empty() || !found.empty();
}

/// Values without a canonical form (a lone surrogate, 1e400) are equal when their texts are.
bool is_equal(const Json& a, const Json& b) {
  const auto canonical_a = canonical_json(a);
  const auto canonical_b = canonical_json(b);
  if (canonical_a && canonical_b) return *canonical_a == *canonical_b;
  return a.text() == b.text();
}

}  // namespace

std::string last_id_with(const std::string& prefix) {
  constexpr std::string_view last_character = "\xF4\x8F\xBF\xBF";
  std::string last = prefix;
  while (last.size() < prefix.size() + id_bytes_max) last += last_character;
  return last;
}

bool matches(const SessionQuery& query, const SessionSummary& session) {
  if (!session.id.text().starts_with(query.id_prefix)) return false;
  if (!query.statuses.empty() &&
      std::ranges::find(query.statuses, session.status) == query.statuses.end()) {
    return false;
  }
  if (query.needs_attention && *query.needs_attention != session.needs_attention()) return false;
  if (query.parent && (!session.parent || session.parent->session != *query.parent)) return false;
  if (!query.tag.empty() && std::ranges::find(session.tags, query.tag) == session.tags.end()) {
    return false;
  }
  return contains(session.title, query.contains) || contains(session.opening, query.contains);
}

bool matches(const CheckpointQuery& query, const Checkpoint& checkpoint) {
  if (query.before && checkpoint.version >= *query.before) return false;
  if (!query.label.empty() && checkpoint.label != query.label) return false;
  if (query.metadata.empty()) return true;
  const auto metadata = parse_json(checkpoint.metadata);
  if (!metadata) return false;
  return std::ranges::all_of(query.metadata, [&](const auto& member) {
    const Json* found = metadata->find(member.first);
    return found != nullptr && is_equal(*found, member.second);
  });
}

std::optional<Timestamp> due_since(const SessionSummary& session, Timestamp now) {
  if (!session.moved_to.empty()) return std::nullopt;
  if (session.holder && session.holder->alive) return std::nullopt;
  if (session.status == Status::active) return session.updated_at;
  const bool is_woken =
      session.status == Status::waiting && session.wake_at && *session.wake_at <= now;
  return is_woken ? session.wake_at : std::nullopt;
}

// A cursor is hexadecimal text: 16 bytes of a hash, then the mark. The hash covers
// the mark and every field of the query that decides which sessions follow. There
// is no secret in it: it guards against mixing up queries, not against an attacker,
// who could see nothing more than the query itself shows.
//
// Reading takes the mark out of the text and accepts it only if writing it again
// gives that very text, so every odd spelling is refused without a rule of its own.

namespace {

constexpr std::size_t check_bytes = 16;

std::string hex_of(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string hex;
  hex.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    hex.push_back(digits[byte >> 4U]);
    hex.push_back(digits[byte & 0xFU]);
  }
  return hex;
}

std::optional<std::string> bytes_of(std::string_view hex) {
  if (hex.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  bytes.reserve(hex.size() / 2);
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    unsigned char byte = 0;
    const char* const begin = hex.data() + i;
    const auto read = std::from_chars(begin, begin + 2, byte, 16);
    if (read.ec != std::errc{} || read.ptr != begin + 2) return std::nullopt;
    bytes.push_back(static_cast<char>(byte));
  }
  return bytes;
}

/// "n-12:ses_…", or "t5:titleses_…" with the length of the title.
std::string text_of(const Mark& mark) {
  if (const auto* number = std::get_if<std::int64_t>(&mark.key)) {
    return "n" + std::to_string(*number) + ":" + mark.id;
  }
  const std::string& title = std::get<std::string>(mark.key);
  return "t" + std::to_string(title.size()) + ":" + title + mark.id;
}

std::optional<Mark> mark_from(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon < 2) return std::nullopt;
  std::int64_t number = 0;
  const char* const end = text.data() + colon;
  const auto read = std::from_chars(text.data() + 1, end, number);
  if (read.ec != std::errc{} || read.ptr != end) return std::nullopt;
  std::string_view const rest = text.substr(colon + 1);
  if (text.front() == 'n') return Mark{number, std::string(rest)};
  if (number < 0 || std::cmp_greater(number, rest.size())) return std::nullopt;
  const auto size = static_cast<std::size_t>(number);
  return Mark{std::string(rest.substr(0, size)), std::string(rest.substr(size))};
}

std::string check_of(const SessionQuery& query, std::string_view mark) {
  Sha256 hash;
  hash.update_sized("perdure cursor");
  hash.update_number(query.statuses.size());
  for (const Status status : query.statuses) {
    hash.update_number(static_cast<std::uint64_t>(status));
  }
  hash.update_number(query.needs_attention ? 1U + (*query.needs_attention ? 1U : 0U) : 0U);
  hash.update_number(query.parent ? 1U : 0U);
  hash.update_sized(query.parent ? query.parent->text() : std::string());
  hash.update_sized(query.tag);
  hash.update_sized(query.contains);
  hash.update_number(static_cast<std::uint64_t>(query.sort));
  hash.update_number(query.descending ? 1U : 0U);
  hash.update_sized(mark);
  hash.update_sized(query.id_prefix);
  const Digest digest = hash.finish();
  return {digest.begin(), digest.begin() + check_bytes};
}

}  // namespace

Mark mark_of(const SessionSummary& session, SessionSort sort) {
  const auto number_of = [](Timestamp time) {
    return std::int64_t{time.time_since_epoch().count()};
  };
  const std::string& id = session.id.text();
  switch (sort) {
    case SessionSort::updated:
      return {number_of(session.updated_at), id};
    case SessionSort::created:
      return {number_of(session.created_at), id};
    case SessionSort::title:
      return {session.title, id};
    case SessionSort::turns:
      return {session.tally.turns, id};
    case SessionSort::cost:
      break;
  }
  return {session.tally.cost_micros, id};
}

std::string to_cursor(const SessionQuery& query, const Mark& mark) {
  const std::string text = text_of(mark);
  return hex_of(check_of(query, text) + text);
}

Result<Mark> from_cursor(const SessionQuery& query) {
  const auto bytes = bytes_of(query.cursor);
  if (bytes && bytes->size() > check_bytes) {
    auto mark = mark_from(std::string_view(*bytes).substr(check_bytes));
    if (mark && to_cursor(query, *mark) == query.cursor) return *std::move(mark);
  }
  return fail(ErrorCode::invalid_argument,
              "the cursor does not belong to this query: begin again without a cursor");
}

}  // namespace perdure::rules
