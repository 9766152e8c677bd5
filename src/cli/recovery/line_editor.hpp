// A line typed at the terminal, with editing and a history: libedit, which only the source of this
// header sees. Lines are UTF-8, whatever locale the environment names; bytes that are not come as U+FFFD.

#pragma once

#include <cstdint>
#include <memory>
#include <string>

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

}  // namespace perdure::cli
