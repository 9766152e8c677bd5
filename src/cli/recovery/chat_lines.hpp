// What can be typed in a chat, and what a line says about a call that waits for a word.

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "perdure/core/error.hpp"
#include "perdure/runtime/calls.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/session.hpp"
#include "perdure/store/log.hpp"

namespace perdure::cli {

struct GivenWord {
  bool allow = false;
  bool overrules = false;  ///< A denial that was seen.
  std::string why{};       ///< Of a question: its answer.
};

/// Both empty: the line is about no call.
struct WordLine {
  std::optional<GivenWord> word{};
  std::string complaint{};  ///< Why it is not taken.
};

/// `/approve`, `/overrule`, `/deny REASON`; any line without a `/`, if a question waits; a bare yes or no, in
/// whichever case, if another call does.
[[nodiscard]] WordLine read_word(std::string_view line, const std::optional<Waiting>& waiting);

/// Recorded, and the session woken, before its turn goes on. What others sent before is taken in
/// first: this is the last word.
/// Fails: `conflict`, about "call_denied", if somebody has denied it and the word does not say that it
/// overrules that: nothing is recorded; as Session::take_inbox; as Session::approve.
[[nodiscard]] Result<void> give_word(Session& session, Position call, const GivenWord& word,
                                     const std::string& who);

}  // namespace perdure::cli
