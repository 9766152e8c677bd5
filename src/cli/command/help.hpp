// What is made from the table of commands: help on a terminal, the reference in Markdown, man pages, and
// what completes a command line, read off the table as the parser reads it. And what the build puts into
// the program: its version, and the page of each error code (docs/errors/CODE.md).

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "command/command.hpp"
#include "perdure/core/error.hpp"

namespace perdure::cli {

/// What the build puts into the program: which program this is, to the commit.
struct BuildInfo {
  std::string version{};
  std::string commit{};  ///< Ends in "-dirty" if the tree was changed; empty: not known.
  std::string compiler{};
  std::string build_type{};
};

[[nodiscard]] BuildInfo build_info();

/// Its text; empty for what is not a code.
[[nodiscard]] std::string_view find_error_page(std::string_view code);

/// Where it is in the repository, and below the documents of a package.
[[nodiscard]] inline std::string page_path(ErrorCode code) {
  return "docs/errors/" + std::string(to_string(code)) + ".md";
}

/// What `perdure help` says: all commands, a line each.
[[nodiscard]] std::string overview(const std::vector<Command>& table);
/// What `perdure help VERB` says.
[[nodiscard]] std::string help_of(const Command& command);
/// A page of docs/reference/cli.
[[nodiscard]] std::string markdown_of(const Command& command);
[[nodiscard]] std::string markdown_index(const std::vector<Command>& table);
/// perdure-VERB(1), and perdure(1), as man reads them.
[[nodiscard]] std::string man_of(const Command& command);
[[nodiscard]] std::string man_index(const std::vector<Command>& table);
/// A script for bash, zsh or fish.
[[nodiscard]] std::string completion_for(std::string_view shell);

struct Suggestion {
  std::string word{};
  std::string_view what{};
};

struct Suggestions {
  std::vector<Suggestion> words{};  ///< Those that begin with what was typed.
  /// What else may stand there, that the table does not know: a session, a call, a file.
  Completes by = Completes::nothing;
  std::string typed{};  ///< The beginning of that.
  std::string store{};  ///< What --store says; empty: nothing.
};

/// `words`: what was typed after "perdure", the last one perhaps not to its end.
[[nodiscard]] Suggestions suggestions_for(const std::vector<Command>& table,
                                          const std::vector<std::string>& words);

}  // namespace perdure::cli
