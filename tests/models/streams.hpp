// The response that the model servers of the tests stream, in each format: text, reasoning and two
// calls, with characters of one to four bytes, at least 4 KB.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/agent/provider.hpp"

namespace perdure::models {

/// Small, because whoever cuts a stream at every byte makes a request for each.
inline constexpr std::size_t text_bytes_default = 1200;

enum class Wire : std::uint8_t { anthropic, chat };

/// By what a server knows a thought for one of its own models: how it begins, and how it is signed or
/// sealed.
struct Voice {
  std::string_view thought{};
  std::string_view signature{};  ///< Of Anthropic's format alone, and so is
  std::string_view redacted{};   ///< this.
};
/// Empty for a model whose name begins with "other": it is of another family, and no server here
/// streams its thoughts.
[[nodiscard]] std::optional<Voice> voice_of(Wire wire, std::string_view model);

/// One event a string, blank line included. `text_bytes`: how much the text has at least.
[[nodiscard]] std::vector<std::string> anthropic_events(
    std::size_t text_bytes = text_bytes_default);
[[nodiscard]] std::vector<std::string> chat_events(std::size_t text_bytes = text_bytes_default);

/// The same response as the one object of a server that does not stream.
[[nodiscard]] std::string anthropic_object(std::size_t text_bytes = text_bytes_default);
[[nodiscard]] std::string chat_object(std::size_t text_bytes = text_bytes_default);

/// What a client must make of them. The request id is the server's.
[[nodiscard]] ModelResponse anthropic_response(std::size_t text_bytes = text_bytes_default);
[[nodiscard]] ModelResponse chat_response(std::size_t text_bytes = text_bytes_default);

}  // namespace perdure::models
