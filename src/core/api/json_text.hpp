// JSON as text: put together piece by piece, come from outside, in its one canonical form; and a
// place in a document (JSON pointers, RFC 6901).

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"

namespace perdure {

/// Appends `text` as a JSON string, with the fewest escapes RFC 8785 allows; a surrogate is
/// written as its escape, a byte that is not UTF-8 as U+FFFD.
void append_json_string(std::string& out, std::string_view text);

/// Whether a string of these bytes comes back from its JSON text as it is: UTF-8, lone surrogates
/// allowed.
[[nodiscard]] bool fits_json(std::string_view bytes);

/// How many values a text from outside may have. Two bytes of it (`0,`) become forty in memory, so
/// its length alone limits little.
inline constexpr std::size_t json_values_max = 500'000;

/// One pass, which builds nothing and counts nothing inside strings.
[[nodiscard]] bool has_too_many_values(std::string_view json);

/// As parse_json, for a text that a model, a server or a tool wrote.
/// Fails: as parse_json; `invalid_argument` for more than json_values_max values.
[[nodiscard]] Result<Json> parse_foreign_json(std::string_view text);

/// The text of RFC 8785 (JSON Canonicalization Scheme): members sorted by the UTF-16 code units of
/// their keys, numbers as ECMAScript prints the nearest double (`1.0` is `1`, `-0` is `0`), the
/// fewest string escapes, no space.
///
/// One difference, on purpose: a number written as plain digits beyond ±2^53 keeps all of them,
/// where RFC 8785 would round it to a double. Two different 64-bit ids must never become one.
///
/// A number too small for a double is `0`, as in ECMAScript.
/// Fails: `invalid_argument` for duplicate keys, lone surrogates, strings that are not UTF-8,
/// numbers no double holds (`1e400`), and values nested deeper than json_depth_max.
[[nodiscard]] Result<std::string> canonical_json(const Json& value);

/// The string member of that key; empty: there is none.
[[nodiscard]] std::string text_in(const Json& object, std::string_view key);

/// The name that one part of a pointer stands for: `~1` is a slash, `~0` a tilde.
[[nodiscard]] std::string pointer_name(std::string_view part);
/// A name as a part of a pointer.
[[nodiscard]] std::string pointer_part(std::string_view name);

/// One step: a member of an object, or an element of an array by its index. Null if there is none.
[[nodiscard]] const Json* find_member(const Json& value, std::string_view part);
/// Null if there is nothing. "" is the value itself.
[[nodiscard]] const Json* find_by_pointer(const Json& value, std::string_view pointer);

}  // namespace perdure
