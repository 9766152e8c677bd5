// Letter case is ignored for ASCII only: what equals what beyond it depends on a
// language and on a Unicode version, and two backends must not disagree.

#include "rules/match.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "core/api/json_text.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
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
  if (query.updated_since && session.updated_at < *query.updated_since) return false;
  if (query.updated_before && session.updated_at >= *query.updated_before) return false;
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

}  // namespace perdure::rules
