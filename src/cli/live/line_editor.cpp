// Reading is ours: libedit asks for each character, and is told that there is none once somebody wakes
// us. Its own handling of signals stays off.

#include "live/line_editor.hpp"

#include <array>
#include <cerrno>
#include <clocale>
#include <cstddef>
#include <cstdio>
#include <cwchar>
#include <histedit.h>
#include <memory>
#include <poll.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

namespace perdure::cli {
namespace {

constexpr int history_lines = 1000;
constexpr int no_character = -1;

}  // namespace

struct LineEditor::Parts {
  explicit Parts(int wake_at) : wake(wake_at) {}
  ~Parts() {
    history_end(past);
    el_end(editor);
  }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  static Parts& of(EditLine* editor) {
    void* parts = nullptr;
    el_get(editor, EL_CLIENTDATA, &parts);
    return *static_cast<Parts*>(parts);
  }

  static char* prompt_of(EditLine* editor) { return of(editor).prompt.data(); }

  // One character, of as many bytes as it takes.
  static int read_character(EditLine* editor, wchar_t* character) {
    Parts& parts = of(editor);
    std::mbstate_t state{};
    for (;;) {
      std::array<pollfd, 2> events{};
      events[0].fd = STDIN_FILENO;
      events[1].fd = parts.wake;
      for (pollfd& event : events) event.events = POLLIN;
      if (::poll(events.data(), events.size(), -1) < 0 && errno == EINTR) continue;
      if ((events[1].revents & POLLIN) != 0) {
        parts.was_woken = true;
        return no_character;
      }
      char byte = 0;
      if (::read(STDIN_FILENO, &byte, 1) != 1) return 0;
      const std::size_t size = std::mbrtowc(character, &byte, 1, &state);
      if (size == static_cast<std::size_t>(-2)) continue;  // Its next byte follows.
      if (size == static_cast<std::size_t>(-1))
        state = {};  // Not a character: passed over.
      else
        return 1;
    }
  }

  int wake;
  EditLine* editor = nullptr;
  History* past = nullptr;
  HistEvent event{};
  std::string prompt;
  std::string file;
  bool was_woken = false;
};

LineEditor::LineEditor(int wake) : parts_(std::make_unique<Parts>(wake)) {
  std::setlocale(LC_CTYPE, "");  // NOLINT(concurrency-mt-unsafe): before any turn runs.
  parts_->editor = el_init("perdure", stdin, stdout, stderr);
  parts_->past = history_init();
  history(parts_->past, &parts_->event, H_SETSIZE, history_lines);
  history(parts_->past, &parts_->event, H_SETUNIQUE, 1);
  el_set(parts_->editor, EL_CLIENTDATA, parts_.get());
  el_set(parts_->editor, EL_PROMPT, &Parts::prompt_of);
  el_set(parts_->editor, EL_EDITOR, "emacs");
  el_set(parts_->editor, EL_HIST, history, parts_->past);
  el_set(parts_->editor, EL_GETCFN, &Parts::read_character);
}

LineEditor::~LineEditor() = default;

void LineEditor::use_history(const std::string& path) {
  parts_->file = path;
  history(parts_->past, &parts_->event, H_LOAD, path.c_str());
}

LineEditor::Line LineEditor::read(const std::string& prompt) {
  parts_->prompt = prompt;
  parts_->was_woken = false;
  int size = 0;
  const char* text = el_gets(parts_->editor, &size);
  if (parts_->was_woken) return {.ended = Ended::woken};
  if (text == nullptr || size <= 0) return {.ended = Ended::input};
  Line line{.ended = Ended::line, .text = std::string(text, static_cast<std::size_t>(size))};
  while (line.text.ends_with('\n') || line.text.ends_with('\r')) line.text.pop_back();
  if (line.text.empty()) return line;
  history(parts_->past, &parts_->event, H_ENTER, line.text.c_str());
  if (!parts_->file.empty()) {
    history(parts_->past, &parts_->event, H_SAVE, parts_->file.c_str());
    ::chmod(parts_->file.c_str(), S_IRUSR | S_IWUSR);
  }
  return line;
}

}  // namespace perdure::cli
