// Reading is ours: libedit asks for each character, and is told that there is none once somebody wakes
// us. Its own handling of signals stays off. It knows the characters of the locale, and what people type
// is UTF-8: where there is no such locale at all, lines are read as bytes, without editing.

#include "recovery/line_editor.hpp"

#include <array>
#include <cerrno>
#include <clocale>
#include <cstddef>
#include <cstdio>
#include <cwchar>
#include <histedit.h>
#include <langinfo.h>
#include <memory>
#include <optional>
#include <poll.h>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace perdure::cli {
namespace {

constexpr int history_lines = 1000;
constexpr int no_character = -1;
constexpr wchar_t no_text = L'\uFFFD';

// A container often names no locale, or one that is not there.
bool use_utf8() {
  for (const char* name : {"", "C.UTF-8"}) {
    // NOLINTBEGIN(concurrency-mt-unsafe): before any turn runs.
    if (std::setlocale(LC_CTYPE, name) == nullptr) continue;
    if (std::string_view(::nl_langinfo(CODESET)) == "UTF-8") return true;
    // NOLINTEND(concurrency-mt-unsafe)
  }
  return false;
}

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

  // Whether there is one: somebody may wake us, or nothing more comes.
  bool read_byte(char& byte) {
    for (;;) {
      std::array<pollfd, 2> events{};
      events[0].fd = STDIN_FILENO;
      events[1].fd = wake;
      for (pollfd& each : events) each.events = POLLIN;
      if (::poll(events.data(), events.size(), -1) < 0 && errno == EINTR) continue;
      was_woken = (events[1].revents & POLLIN) != 0;
      return !was_woken && ::read(STDIN_FILENO, &byte, 1) == 1;
    }
  }

  // One character, of as many bytes as it takes. Bytes that are none are told as U+FFFD, and the one
  // that broke a character off is looked at anew.
  static int read_character(EditLine* editor, wchar_t* character) {
    Parts& parts = of(editor);
    std::mbstate_t state{};
    for (bool is_first = true;; is_first = false) {
      char byte = 0;
      if (parts.unread) {
        byte = *std::exchange(parts.unread, std::nullopt);
      } else if (!parts.read_byte(byte)) {
        return parts.was_woken ? no_character : 0;
      }
      const std::size_t size = std::mbrtowc(character, &byte, 1, &state);
      if (size == static_cast<std::size_t>(-2)) continue;  // Its next byte follows.
      if (size != static_cast<std::size_t>(-1)) return 1;
      if (!is_first) parts.unread = byte;
      *character = no_text;
      return 1;
    }
  }

  // Empty: there is none.
  std::string edited_line() {
    int size = 0;
    const char* text = el_gets(editor, &size);
    return text == nullptr || size <= 0 ? "" : std::string(text, static_cast<std::size_t>(size));
  }

  std::string plain_line() {
    std::fputs(prompt.c_str(), stdout);
    std::fflush(stdout);
    std::string text;
    for (char byte = 0; byte != '\n' && read_byte(byte);) text += byte;
    return text;
  }

  int wake;
  EditLine* editor = nullptr;
  History* past = nullptr;
  HistEvent event{};
  std::string prompt;
  std::string file;
  std::optional<char> unread;
  bool was_woken = false;
};

LineEditor::LineEditor(int wake) : parts_(std::make_unique<Parts>(wake)) {
  parts_->past = history_init();
  history(parts_->past, &parts_->event, H_SETSIZE, history_lines);
  history(parts_->past, &parts_->event, H_SETUNIQUE, 1);
  if (!use_utf8()) return;
  parts_->editor = el_init("perdure", stdin, stdout, stderr);
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
  Line line{.ended = Ended::line,
            .text = parts_->editor == nullptr ? parts_->plain_line() : parts_->edited_line()};
  if (parts_->was_woken) return {.ended = Ended::woken};
  if (line.text.empty()) return {.ended = Ended::input};
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
