// Values as they are shown: times, amounts and states in the words that people read, and what the store
// knows as the JSON that verbs print. Members of JSON are only ever added within a schema number;
// docs/reference/schemas has one file for each.

#pragma once

// IWYU pragma: begin_exports
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/upkeep.hpp"
#include "runtime/api/state_details.hpp"
#include "screen/screen.hpp"
#include "store/api/bundle.hpp"
// IWYU pragma: end_exports

namespace perdure::cli {

/// "now", "4m", "2h", "3d", "5w": the largest unit alone.
[[nodiscard]] std::string short_span(Duration span);
/// "0.2s", "4.1s", "3m12s", "2h05m".
[[nodiscard]] std::string exact_span(Duration span);
/// "4m ago", "in 2h", "now".
[[nodiscard]] std::string relative(Timestamp time, Timestamp now);
/// "950", "2.1k", "88.1k", "3.4M".
[[nodiscard]] std::string short_count(std::int64_t number);
/// "1,204".
[[nodiscard]] std::string grouped(std::int64_t number);
/// "$0.0033" of millionths.
[[nodiscard]] std::string dollars(std::int64_t micros);
/// The same where a part of the cost may be unknown: "at least $0.12", "cost unknown".
[[nodiscard]] std::string cost_words(std::int64_t micros, bool is_known);
/// What may follow it: ", up to $0.0200 unconfirmed"; empty for nothing.
[[nodiscard]] std::string unconfirmed_words(std::int64_t micros);
/// "12 B", "3.4 KiB".
[[nodiscard]] std::string bytes_text(std::uint64_t bytes);
/// "90d", "2h", "30m", "10s"; nothing for any other text.
[[nodiscard]] std::optional<Duration> span_from(std::string_view text);
/// "1 session", "2 sessions", "3 entries".
[[nodiscard]] std::string counted(std::uint64_t number, std::string_view noun);

/// A session's state, as lists show it: a status, or what follows from it.
enum class ShownState : std::uint8_t {
  active,
  waiting,
  paused,
  completed,
  failed,
  cancelled,
  ready,  ///< A fork that was not run yet.
  interrupted,
  needs_attention,
  moved,
};

[[nodiscard]] ShownState shown_state(const SessionSummary& row);
/// Its title, or the words that it began with.
[[nodiscard]] inline const std::string& title_of(const SessionSummary& row) {
  return row.title.empty() ? row.opening : row.title;
}
/// "paused by ann: lunch".
[[nodiscard]] std::string status_words(const StatusNote& note);
/// As JSON and filters write it: "needs_attention".
[[nodiscard]] std::string_view to_string(ShownState standing);
[[nodiscard]] std::optional<ShownState> shown_state_from(std::string_view text);

/// Icon and word on a terminal, the word elsewhere.
[[nodiscard]] Piece shown(ShownState standing, bool with_icon);
[[nodiscard]] Piece shown(CallState state, bool with_icon);

/// On a terminal ids that Perdure minted are cut where they are still unique in practice: after the
/// millisecond and the counter within it.
[[nodiscard]] std::string shown_id(const std::string& id, bool is_terminal);

void print_damage(Screen& screen, const std::vector<Damage>& list);
/// What to do about entries that no salvage brings back: every check finds them.
inline constexpr std::string_view loss_advice =
    "What is lost may be in an earlier backup. All else is intact: these sessions open, and can be "
    "forked; export and copy take them along with --with-damage.";
/// "2 sessions, 14 entries, 3 calls".
[[nodiscard]] std::string bundle_words(const BundleReport& report);

[[nodiscard]] Json as_json(const SessionSummary& row);
[[nodiscard]] Json as_json(const Tally& tally);
/// Where it is known whether `cost_micros` is all of the cost.
[[nodiscard]] Json as_json(const Tally& tally, bool is_cost_known);
[[nodiscard]] Json as_json(const Call& call);
[[nodiscard]] Json as_json(const Checkpoint& checkpoint);
/// The body is a JSON value where it is JSON, else text under "bytes" (base64) or a "blob".
[[nodiscard]] Json as_json(const Entry& entry);

[[nodiscard]] Json as_json(const std::optional<Timestamp>& time);
[[nodiscard]] Json as_json(const std::vector<std::string>& texts);
[[nodiscard]] Json as_json(const std::vector<Damage>& damage);
/// The members of `perdure.bundle/1`.
[[nodiscard]] Json::Object bundle_members(const std::string& file, const BundleReport& report);

/// A list of what `make` makes of each.
template <typename Items, typename Make>
[[nodiscard]] Json json_list(const Items& items, Make make) {
  Json::Array list;
  for (const auto& item : items) list.emplace_back(std::invoke(make, item));
  return list;
}

[[nodiscard]] Json state_json(const State& state);

/// Indented by two spaces, a member or element a line.
[[nodiscard]] std::string indented(const Json& value, std::size_t depth = 0);

/// What a JSON pointer (RFC 6901) leads to.
/// Fails: `not_found`.
[[nodiscard]] Result<Json> value_at(const Json& value, std::string_view pointer);

}  // namespace perdure::cli
