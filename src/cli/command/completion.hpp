// What could stand where the cursor is: read off the table of commands, as the parser reads it.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "command/command.hpp"

namespace perdure::cli {

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
