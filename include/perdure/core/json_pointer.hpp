// JSON pointers (RFC 6901): a place in a document, as text.

#pragma once

#include <string>
#include <string_view>

#include "perdure/core/json.hpp"

namespace perdure {

/// The name that one part of a pointer stands for: `~1` is a slash, `~0` a tilde.
[[nodiscard]] std::string pointer_name(std::string_view part);
/// A name as a part of a pointer.
[[nodiscard]] std::string pointer_part(std::string_view name);

/// One step: a member of an object, or an element of an array by its index. Null if there is none.
[[nodiscard]] const Json* find_member(const Json& value, std::string_view part);
/// Null if there is nothing. "" is the value itself.
[[nodiscard]] const Json* find_by_pointer(const Json& value, std::string_view pointer);

}  // namespace perdure
