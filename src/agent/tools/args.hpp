// Arguments of a call whose schema has been checked. What is not there is what the tool takes it for.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "perdure/core/json.hpp"

namespace perdure {

[[nodiscard]] inline std::string text_arg(const Json& args, std::string_view name,
                                          std::string_view otherwise = {}) {
  const Json* found = args.find(name);
  const auto* text = found == nullptr ? nullptr : found->as_string();
  return text == nullptr ? std::string(otherwise) : *text;
}

[[nodiscard]] inline std::int64_t number_arg(const Json& args, std::string_view name,
                                             std::int64_t otherwise) {
  const Json* found = args.find(name);
  return found == nullptr ? otherwise : found->as_int64().value_or(otherwise);
}

}  // namespace perdure
