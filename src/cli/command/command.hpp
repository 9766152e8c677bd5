// A command as data: parser, help, man pages, completions and the reference are made from this one
// description, so that they agree. And how the program ends: scripts and agents branch on exit codes, so
// the numbers never change.

#pragma once

// IWYU pragma: begin_exports
#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "perdure/core/error.hpp"
// IWYU pragma: end_exports

namespace perdure::cli {

enum class Exit : std::uint8_t {
  done = 0,
  failed = 1,
  usage = 2,
  not_found = 3,  ///< Or ambiguous.
  not_authorised = 4,
  in_use = 5,  ///< The session or the store.
  damaged = 6,
  in_doubt = 7,       ///< Stopped: a call is in doubt.
  resting = 8,        ///< Stopped: paused or waiting.
  unconfirmed = 9,    ///< Confirmation needed, or refused.
  unsupported = 10,   ///< The store's format.
  interrupted = 130,  ///< By Ctrl-C; resumable, as is:
  terminated = 143,
};

[[nodiscard]] Exit exit_for(const Error& error);

/// What the number means, in a few words.
[[nodiscard]] std::string_view meaning_of(Exit exit);

class CommandContext;

struct RunVerb {
  std::function<Result<Exit>(CommandContext&)> run{};
  bool opens_store = false;  ///< It may not be there, not be ours, be in use, damaged or newer.
};

/// What completes a word.
enum class Completes : std::uint8_t { nothing, session, call, file, session_or_file, command };

struct Argument {
  enum class Count : std::uint8_t { one, maybe, any, some };
  std::string_view name;  ///< As help shows it: "SES".
  std::string_view summary;
  Count count = Count::one;
  Completes by = Completes::nothing;
  std::vector<std::string_view> choices{};  ///< Empty: any.
};

/// What the value of an option must be.
enum class Takes : std::uint8_t { text, count, dollars, span };

struct Option {
  std::string_view name;     ///< Without the dashes.
  std::string_view value{};  ///< What help calls its value; empty: it has none.
  std::string_view summary{};
  std::vector<std::string_view> choices{};  ///< Empty: any.
  bool repeats = false;
  char letter = '\0';
  Completes by = Completes::nothing;  ///< Its value.
  Takes takes = Takes::text;
  std::string_view missing{};  ///< The error if it is not given, or empty. Empty: it may be.
};

struct Example {
  std::string_view line;
  std::string_view what;
};

struct Command {
  std::string_view name;
  std::string_view summary;  ///< One line, without a full stop.
  std::string_view details{};
  std::vector<Argument> arguments{};
  std::vector<Option> options{};
  std::vector<Exit>
      exits{};  ///< Besides done, failed, usage, and what opening a store may end with.
  std::vector<Example> examples{};
  std::string_view schema{};  ///< Of what --json prints; empty: it has no JSON.
  /// Members of an item, where it prints a list: what --fields chooses from.
  std::vector<std::string_view> fields{};
  bool is_hidden = false;
  /// Usage errors that the parser cannot find: they are reported before a store is opened, so that
  /// a store that is missing or damaged does not hide them.
  std::function<Result<void>(CommandContext&)> check{};
  RunVerb body{};
};

/// A command's own, if there is one yet, and those that every command takes.
[[nodiscard]] std::vector<const Option*> options_of(const Command* command);
/// By "--name" or "-n". Null: there is none.
[[nodiscard]] const Option* find_option(const Command* command, std::string_view word);
/// Options that every command takes.
[[nodiscard]] const std::vector<Option>& global_options();

/// "perdure show SES [OPTION…]".
[[nodiscard]] std::string usage_of(const Command& command);

/// What was typed, once it fits a command.
class Invocation {
 public:
  const Command* command = nullptr;  ///< Null: none was named.
  std::vector<std::string> arguments{};
  std::map<std::string, std::vector<std::string>, std::less<>> options{};

  [[nodiscard]] bool has(std::string_view option) const { return options.contains(option); }
  /// The last value given; empty if there is none.
  [[nodiscard]] std::optional<std::string> find(std::string_view option) const;
  [[nodiscard]] std::vector<std::string> all(std::string_view option) const;
};

/// Fails: `invalid_argument`, with what was meant perhaps.
[[nodiscard]] Result<Invocation> parse(const std::vector<Command>& table,
                                       const std::vector<std::string>& words);

/// That what was typed makes no sense.
[[nodiscard]] inline std::unexpected<Error> misuse(std::string what) {
  return fail(ErrorCode::invalid_argument, std::move(what));
}

/// In the order they were asked for; empty: all.
/// Fails: `invalid_argument` for a member that the command's items do not have, and names those they
/// have; for a command that prints no list, or not as JSON.
[[nodiscard]] Result<std::vector<std::string>> fields_of(const Invocation& given);

}  // namespace perdure::cli
