// What a person types at a terminal: a line, with editing and a history (libedit, which only the source of
// this header sees); a choice of one of several, by typing a part of it or with the arrows; and what a line
// of a chat says about a call that waits for a decision. Lines are UTF-8, whatever locale the
// environment names; bytes that are not come as U+FFFD.

#pragma once

#include "context/command_context.hpp"

namespace perdure::cli {

class LineEditor {
 public:
  enum class Ended : std::uint8_t {
    line,   ///< `text` was typed.
    input,  ///< Ctrl-D: nothing more comes.
    woken,  ///< The descriptor became readable.
  };
  struct Line {
    Ended ended = Ended::input;
    std::string text{};
  };

  /// `wake`: a descriptor that ends a read once it is readable; -1: none does.
  explicit LineEditor(int wake);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  /// From now on lines are remembered in this file, and those in it can be called back.
  void use_history(const std::string& path);
  [[nodiscard]] Line read(const std::string& prompt);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

struct Choice {
  std::string words{};          ///< What typing looks through.
  std::vector<Piece> pieces{};  ///< What is shown.
};

/// Which of them are shown, and which is chosen. Knows no terminal.
class PickList {
 public:
  explicit PickList(std::vector<Choice> choices);

  void type(char letter);
  void erase();  ///< A letter, of however many bytes.
  void move(int by);

  [[nodiscard]] const std::string& typed() const { return typed_; }
  /// Indexes of those that fit.
  [[nodiscard]] const std::vector<std::size_t>& shown() const { return shown_; }
  /// Of `shown`.
  [[nodiscard]] std::size_t cursor() const { return cursor_; }
  [[nodiscard]] std::optional<std::size_t> chosen() const;
  [[nodiscard]] const Choice& choice(std::size_t index) const { return choices_[index]; }

 private:
  void filter();

  std::vector<Choice> choices_;
  std::string typed_;
  std::vector<std::size_t> shown_;
  std::size_t cursor_ = 0;
};

/// Lets a person at the terminal choose, and leaves nothing behind. Empty: they would not, or a
/// signal was caught.
[[nodiscard]] std::optional<std::size_t> pick(CommandContext& context, std::string_view heading,
                                              std::vector<Choice> choices);

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

/// Recorded, and the session woken, before its turn continues. What others sent before is taken in
/// first: this decision is the last.
/// Fails: `conflict`, about "call_denied", if it was denied and this decision does not say that it
/// overrules that: nothing is recorded; as Session::take_inbox; as Session::approve.
[[nodiscard]] Result<void> give_word(Session& session, Position call, const GivenWord& word,
                                     const std::string& who);

}  // namespace perdure::cli
