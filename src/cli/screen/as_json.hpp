// What the store knows, as the JSON that verbs print. Members are only ever added within a schema
// number; docs/reference/schemas has one file for each.
//
// A session's state as one JSON value, and JSON as people read it.

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/bundle.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/upkeep.hpp"

namespace perdure::cli {

[[nodiscard]] Json as_json(const SessionSummary& row);
[[nodiscard]] Json as_json(const Tally& tally);
/// Where it is known whether `cost_micros` is all of the cost.
[[nodiscard]] Json as_json(const Tally& tally, bool is_cost_known);
[[nodiscard]] Json as_json(const Call& call);
[[nodiscard]] Json as_json(const Checkpoint& checkpoint);
/// The body is a JSON value where it is JSON, else text under "bytes" (base64) or a "blob".
[[nodiscard]] Json as_json(const Entry& entry);

[[nodiscard]] Json as_json(const std::optional<Timestamp>& time);
[[nodiscard]] Json as_json(const std::vector<Damage>& damage);
/// The members of `perdure.bundle/1`.
[[nodiscard]] Json::Object bundle_members(const std::string& file, const BundleReport& report);

[[nodiscard]] Json state_json(const State& state);

/// Indented by two spaces, a member or element a line.
[[nodiscard]] std::string indented(const Json& value, std::size_t depth = 0);

/// What a JSON pointer (RFC 6901) leads to.
/// Fails: `not_found`.
[[nodiscard]] Result<Json> value_at(const Json& value, std::string_view pointer);

}  // namespace perdure::cli
