// An index has no sign, no leading zero and no other letters; "-", the element after the last, is
// never there.

#include "perdure/core/json_pointer.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>

#include "perdure/core/json.hpp"

namespace perdure {

std::string pointer_name(std::string_view part) {
  std::string name;
  for (std::size_t i = 0; i < part.size(); ++i) {
    const bool is_escape =
        part[i] == '~' && i + 1 < part.size() && (part[i + 1] == '0' || part[i + 1] == '1');
    name += !is_escape ? part[i] : part[i + 1] == '0' ? '~' : '/';
    if (is_escape) ++i;
  }
  return name;
}

std::string pointer_part(std::string_view name) {
  std::string part;
  for (const char c : name) part += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return part;
}

const Json* find_member(const Json& value, std::string_view part) {
  if (value.is_object()) return value.find(pointer_name(part));
  const auto* array = value.as_array();
  if (array == nullptr || part.empty() || (part.size() > 1 && part.front() == '0')) return nullptr;
  std::size_t index = 0;
  const auto read = std::from_chars(part.data(), part.data() + part.size(), index);
  const bool is_index = read.ec == std::errc{} && read.ptr == part.data() + part.size();
  return is_index && index < array->size() ? &(*array)[index] : nullptr;
}

const Json* find_by_pointer(const Json& value, std::string_view pointer) {
  const Json* at = &value;
  while (at != nullptr && !pointer.empty()) {
    if (pointer.front() != '/') return nullptr;
    pointer.remove_prefix(1);
    const std::size_t end = std::min(pointer.find('/'), pointer.size());
    at = find_member(*at, pointer.substr(0, end));
    pointer.remove_prefix(end);
  }
  return at;
}

}  // namespace perdure
