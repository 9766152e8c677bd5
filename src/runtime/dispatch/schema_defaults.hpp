// The defaults a JSON Schema states, filled into arguments that left them out.

#pragma once

#include "perdure/core/json.hpp"

namespace perdure::dispatch {

/// Members of objects only, as deep as `properties` goes; `schema` may be any JSON.
[[nodiscard]] Json with_defaults(Json args, const Json& schema);

}  // namespace perdure::dispatch
