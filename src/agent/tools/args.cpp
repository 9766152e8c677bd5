// What is not there, or is of another kind, is what the tool takes it for.

#include "tools/args.hpp"

#include <cstdint>
#include <string>
#include <string_view>

#include "perdure/core/json.hpp"

namespace perdure {

std::string text_arg(const Json& args, std::string_view name, std::string_view otherwise) {
  const Json* found = args.find(name);
  const auto* text = found == nullptr ? nullptr : found->as_string();
  return text == nullptr ? std::string(otherwise) : *text;
}

std::int64_t number_arg(const Json& args, std::string_view name, std::int64_t otherwise) {
  const Json* found = args.find(name);
  return found == nullptr ? otherwise : found->as_int64().value_or(otherwise);
}

}  // namespace perdure
