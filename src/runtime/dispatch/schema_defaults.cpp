// Only what `properties` and `default` say. Schemas that choose (`oneOf`, `if`) have no
// defaults that could be known without deciding for the tool.

#include "dispatch/schema_defaults.hpp"

#include <utility>

#include "perdure/core/json.hpp"

namespace perdure::dispatch {

Json with_defaults(Json args, const Json& schema) {
  const Json* properties = schema.find("properties");
  if (properties == nullptr || !properties->is_object() || !args.is_object()) return args;
  for (const auto& [key, property] : *properties->as_object()) {
    const Json* given = args.find(key);
    const Json* standard = property.find("default");
    if (given == nullptr && standard == nullptr) continue;
    args.set(key, with_defaults(given != nullptr ? *given : *standard, property));
  }
  return args;
}

}  // namespace perdure::dispatch
