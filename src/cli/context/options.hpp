// Options and values that more than one verb has: numbers, money, texts, paths, and the options of the
// verbs that run agents.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "context/command_context.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/log.hpp"

namespace perdure::cli {

/// A whole number above zero.
/// Fails: `invalid_argument`.
[[nodiscard]] Result<std::int64_t> number_option(const Invocation& given, std::string_view name,
                                                 std::int64_t otherwise);

/// The text itself, or, after "@", what the file of that name holds.
/// Fails: `not_found` if there is no such file; `invalid_argument` if it does not end before
/// `body_bytes_max` (limits.hpp).
[[nodiscard]] Result<std::string> text_or_file(const std::string& value, const std::string& folder);

/// All of stdin; nothing where there is none.
/// Fails: `invalid_argument` as above.
[[nodiscard]] Result<std::string> text_of_stdin(const ProcessIo& io);

/// What a word stands for: all of stdin for "-", otherwise as text_or_file.
/// Fails: as both.
[[nodiscard]] Result<std::string> text_of_word(const std::string& value, const ProcessIo& io);

/// How a verb ends that a signal stopped.
[[nodiscard]] Exit exit_by(const SignalWatch& signals);
/// Whether a session was not taken up because of a signal: while it was waited for, or asked about.
[[nodiscard]] bool was_left(const Error& error, const SignalWatch& signals);

/// The end of a verb that has shown what could be read: `done`, or `damaged` if something could not.
/// Fails: `corrupted`, which names the places; not where the output is JSON, which has them.
[[nodiscard]] Result<Exit> end_with_damage(CommandContext& context, const SessionId& session,
                                           const std::vector<Position>& places);

/// --model, --provider, --base-url, --budget.
[[nodiscard]] std::vector<Option> model_options();
/// --agent, --accept-changes, --wait.
[[nodiscard]] std::vector<Option> take_up_options();

/// Millionths of a dollar; empty: the option is not given.
/// Fails: `invalid_argument`.
[[nodiscard]] Result<std::optional<std::int64_t>> dollars_option(const Invocation& given,
                                                                 std::string_view name);

/// Of a path as it was written in this folder.
[[nodiscard]] std::string whole_path(const std::string& path, const std::string& folder);

/// The same of a file that is to be read or made.
/// Fails: `invalid_argument` for what is none: nothing, a stream, the address of a server.
[[nodiscard]] Result<std::string> file_path(const std::string& file, const std::string& folder);

/// Whether the word means an agent file, there or not, rather than something else.
[[nodiscard]] bool names_agent_file(const std::string& word, const std::string& folder);

}  // namespace perdure::cli
