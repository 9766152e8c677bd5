// `{"secret_ref": "NAME"}`: where a secret goes in the arguments of a call.

#pragma once

#include <string>

#include "perdure/core/json.hpp"

namespace perdure {

/// The name; null for anything else.
[[nodiscard]] inline const std::string* secret_name(const Json& value) {
  const auto* object = value.as_object();
  if (object == nullptr || object->size() != 1) return nullptr;
  return object->front().first == "secret_ref" ? object->front().second.as_string() : nullptr;
}

[[nodiscard]] inline bool is_secret_ref(const Json& value) { return secret_name(value) != nullptr; }

}  // namespace perdure
