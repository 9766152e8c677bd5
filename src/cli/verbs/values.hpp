// Values of options that more than one verb has.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "command/command.hpp"
#include "desk.hpp"
#include "exit.hpp"
#include "live/signal_watch.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/log.hpp"
#include "world.hpp"

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
[[nodiscard]] Result<std::string> text_of_stdin(const World& world);

/// What a word stands for: all of stdin for "-", otherwise as text_or_file.
/// Fails: as both.
[[nodiscard]] Result<std::string> text_of_word(const std::string& value, const World& world);

/// How a verb ends that a signal stopped.
[[nodiscard]] Exit exit_by(const SignalWatch& signals);
/// Whether a session was not taken up because of a signal: while it was waited for, or asked about.
[[nodiscard]] bool was_left(const Error& error, const SignalWatch& signals);

/// The end of a verb that has shown what could be read: `done`, or `damaged` if something could not.
/// Fails: `corrupted`, which names the places; not where the output is JSON, which has them.
[[nodiscard]] Result<Exit> end_with_damage(Desk& desk, const SessionId& session,
                                           const std::vector<Position>& places);

}  // namespace perdure::cli
