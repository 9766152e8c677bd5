// The little that must be known of a URL: whether it is one, and where it leads.

#pragma once

#include <string>
#include <string_view>

#include "perdure/core/error.hpp"

namespace perdure {

/// Whether its host is this machine, by name (localhost) or by number.
[[nodiscard]] bool is_loopback(std::string_view url);

/// The base with the path behind it. Fails: `invalid_argument` for a base that is not http or
/// https with a host, that holds a password, or whose connection is not encrypted though a key
/// would go over it to another machine.
[[nodiscard]] Result<std::string> request_url(std::string_view base, std::string_view path,
                                              bool has_key);

}  // namespace perdure
