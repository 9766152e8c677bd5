// What the vendors check in a request, as far as clients get it wrong: members that must be there,
// every call answered by a result right after it, and no reasoning but what this provider's models of
// this family have said: what another one thought is signed for another, or fits no member here.

#pragma once

#include <optional>
#include <string>

#include "models/model_server.hpp"

namespace perdure::models {

/// The body of an answer 400; nothing for a request that is fine.
[[nodiscard]] std::optional<std::string> refusal_of(const SeenRequest& request);

}  // namespace perdure::models
