// What the store knows, as the JSON that verbs print. Members are only ever added within a schema
// number; docs/reference/schemas has one file for each.

#pragma once

#include "perdure/core/json.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"

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

}  // namespace perdure::cli
