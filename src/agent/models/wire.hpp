// What the formats of providers have in common.
//
// A conversation that a provider refuses once, it refuses for ever. So what a model made up (a
// tool's name with a space, arguments that are no JSON), or another provider gave out (an id with a
// dot), is put into a form that all of them take; always into the same one.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "perdure/agent/provider.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/state.hpp"

namespace perdure::wire {

/// The text as a JSON string.
[[nodiscard]] std::string quoted(std::string_view text);

/// Letters, digits, `_` and `-`, at most 64 of them.
[[nodiscard]] std::string tool_name(std::string_view name);
[[nodiscard]] std::string call_id(std::string_view id);
/// As the model wrote them, if that is an object; none at all as an empty one; otherwise an object
/// that holds what it wrote.
[[nodiscard]] std::string call_args(std::string_view args);

/// The setup's parameters as members, `"a":1,"b":2`, each as it was written.
/// Fails: `invalid_argument` if they are no object, or name one of `reserved`.
[[nodiscard]] Result<std::string> parameters(const Setup& setup,
                                             std::span<const std::string_view> reserved);
/// A number among the setup's parameters.
[[nodiscard]] std::optional<std::int64_t> parameter(const Setup& setup, std::string_view key);

/// Appends a piece of text. Two halves of a character that two pieces brought become one.
void append(std::string& text, std::string_view piece);

/// Blocks, or calls, of one response. More take much more room than their bytes, and no model means
/// them.
inline constexpr std::size_t blocks_max = 4096;

/// `data` itself if it is UTF-8; otherwise `room`, where each sequence that is none became U+FFFD.
/// One broken letter must not cost a response that is paid for.
[[nodiscard]] std::string_view as_text(std::string_view data, std::string& room);

/// What a JSON text that came from outside holds under `key`; each null or empty where it does not.
[[nodiscard]] std::string text_in(const Json& json, std::string_view key);
[[nodiscard]] std::int64_t number_in(const Json& json, std::string_view key);

/// A member of the object that `object` is, as it is written there; empty if there is none.
[[nodiscard]] std::string_view raw_in(std::string_view object, std::string_view key);

/// The member `vendor` of an object: what that vendor, and no other, is to get back. Empty if
/// there is none.
[[nodiscard]] std::string vendors_own(const RawJson& metadata, std::string_view vendor);
[[nodiscard]] std::string vendors_own(const Unknown& unknown, std::string_view vendor);

/// Whether a member is a count: a whole number that is not negative.
[[nodiscard]] bool has_count(const Json& json, std::string_view key);

/// The object with the members of another behind its own; each is as it was written.
[[nodiscard]] std::string with_members(std::string object, std::string_view of);

/// Whether there is an error in the place of a response, or behind it.
[[nodiscard]] bool has_error(const Json& json);

/// As to_string writes it.
[[nodiscard]] std::optional<StopReason> find_stop_reason(std::string_view text);

/// What a provider says about an error, from the body of its answer: `{"error": {"type",
/// "message"}}` in its usual variants, or whatever else there is.
[[nodiscard]] std::string error_words(std::string_view body);

/// The beginning of such words. After a key was looked for in them: one that is cut is not found.
[[nodiscard]] std::string shortened(std::string words);

}  // namespace perdure::wire
