// The response that the model servers of the tests stream, in each format: text, reasoning and two
// calls, with characters of one to four bytes, at least 4 KB.

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "perdure/agent/provider.hpp"

namespace perdure::models {

/// Small, because whoever cuts a stream at every byte makes a request for each.
inline constexpr std::size_t text_bytes_default = 1200;

/// One event a string, blank line included. `text_bytes`: how much the text has at least.
[[nodiscard]] std::vector<std::string> anthropic_events(
    std::size_t text_bytes = text_bytes_default);
[[nodiscard]] std::vector<std::string> chat_events(std::size_t text_bytes = text_bytes_default);

/// What a client must make of them. The request id is the server's.
[[nodiscard]] ModelResponse anthropic_response(std::size_t text_bytes = text_bytes_default);
[[nodiscard]] ModelResponse chat_response(std::size_t text_bytes = text_bytes_default);

}  // namespace perdure::models
