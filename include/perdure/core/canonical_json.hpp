// One text for one JSON value: what keys and hashes of arguments are made of.

#pragma once

#include <string>

#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"

namespace perdure {

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

}  // namespace perdure
