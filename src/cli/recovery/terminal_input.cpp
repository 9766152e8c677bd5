// Reading is ours: libedit asks for each character, and is told that there is none once somebody wakes
// us. Its own handling of signals stays off. It knows the characters of the locale, and what people type
// is UTF-8: where there is no such locale at all, lines are read as bytes, without editing. The list to
// choose from is drawn again after each key: some lines down, and back up again.

#include "recovery/terminal_input.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cwchar>
#include <histedit.h>
#include <langinfo.h>
#include <poll.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "context/command_context.hpp"

namespace perdure::cli {
namespace {

constexpr int history_lines = 1000;
constexpr int no_character = -1;
constexpr wchar_t no_text = L'\uFFFD';

// Until there is something to read on stdin. False: `wake` became readable first.
bool await_input(int wake) {
  std::array<pollfd, 2> inputs{pollfd{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0},
                               pollfd{.fd = wake, .events = POLLIN, .revents = 0}};
  while (::poll(inputs.data(), inputs.size(), -1) < 0 && errno == EINTR) {
  }
  return inputs[1].revents == 0;
}

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

constexpr std::size_t rows_shown = 10;
constexpr char escape = '\x1b';
constexpr char ctrl_c = '\x03';
constexpr char ctrl_d = '\x04';
constexpr char ctrl_n = '\x0e';
constexpr char ctrl_p = '\x10';
constexpr char backspace = '\x7f';
constexpr char ctrl_h = '\x08';

/// The terminal hands over each key, for as long as this lives; no signal ends the program meanwhile.
class KeyByKey {
 public:
  explicit KeyByKey(SignalWatch& signals) : signals_(signals) {
    signals_.hold();
    ::tcgetattr(STDIN_FILENO, &before_);
    termios now = before_;
    now.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG);
    now.c_cc[VMIN] = 1;
    now.c_cc[VTIME] = 0;
    ::tcsetattr(STDIN_FILENO, TCSADRAIN, &now);
  }
  ~KeyByKey() {
    ::tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
    signals_.let_go();
  }
  KeyByKey(const KeyByKey&) = delete;
  KeyByKey& operator=(const KeyByKey&) = delete;

  /// The keys that were pressed, as far as they came in one piece. Empty: no more come.
  [[nodiscard]] std::string read() const {
    if (!await_input(signals_.descriptor())) return {};
    std::array<char, 32> room{};
    const ssize_t size = ::read(STDIN_FILENO, room.data(), room.size());
    return size <= 0 ? std::string() : std::string(room.data(), static_cast<std::size_t>(size));
  }

 private:
  SignalWatch& signals_;
  termios before_{};
};

class Drawing {
 public:
  Drawing(Screen& screen, std::string_view heading) : screen_(screen), heading_(heading) {}

  void draw(const PickList& list) {
    clear();
    line({{fmt::format("{} ", heading_), Ink::bold}, {list.typed()}, {"_", Ink::dim}});
    const std::size_t first = list.cursor() < rows_shown ? 0 : list.cursor() - rows_shown + 1;
    for (std::size_t i = first; i < std::min(list.shown().size(), first + rows_shown); ++i) {
      std::vector<Piece> pieces = {{i == list.cursor() ? "> " : "  ", Ink::cyan}};
      for (const Piece& piece : list.choice(list.shown()[i]).pieces) pieces.push_back(piece);
      line(std::move(pieces));
    }
    if (list.shown().empty()) line({{"  none fits", Ink::dim}});
    screen_.flush();
  }

  void clear() {
    if (lines_ > 0) screen_.bytes(fmt::format("\x1b[{}A\r\x1b[J", lines_));
    lines_ = 0;
    screen_.flush();
  }

 private:
  // A line that is too long would be two, and clear() would leave one of them.
  void line(std::vector<Piece> pieces) {
    std::size_t room = screen_.columns() - 1;
    for (Piece& piece : pieces) {
      piece.text = clipped(visible(piece.text), room);
      room -= width_of(piece.text);
    }
    screen_.line(pieces);
    ++lines_;
  }

  Screen& screen_;
  std::string heading_;
  std::size_t lines_ = 0;
};

enum class Key { more, take, leave };

Key take_keys(PickList& list, const std::string& keys) {
  if (keys.empty()) return Key::leave;
  if (keys == "\x1b[A" || keys == "\x1bOA") return list.move(-1), Key::more;
  if (keys == "\x1b[B" || keys == "\x1bOB") return list.move(1), Key::more;
  if (keys.front() == escape) return keys.size() == 1 ? Key::leave : Key::more;
  for (const char key : keys) {
    if (key == '\r' || key == '\n') return list.chosen() ? Key::take : Key::more;
    if (key == ctrl_c || key == ctrl_d) return Key::leave;
    if (key == ctrl_p) list.move(-1);
    if (key == ctrl_n) list.move(1);
    if (key == backspace || key == ctrl_h) list.erase();
    if (static_cast<unsigned char>(key) >= ' ' && key != backspace) list.type(key);
  }
  return Key::more;
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
    was_woken = !await_input(wake);
    return !was_woken && ::read(STDIN_FILENO, &byte, 1) == 1;
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

PickList::PickList(std::vector<Choice> choices) : choices_(std::move(choices)) {
  for (Choice& choice : choices_) choice.words = lowered(choice.words);
  filter();
}

void PickList::type(char letter) {
  typed_ += letter;
  filter();
}

void PickList::erase() {
  const auto is_inside = [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
  };
  while (!typed_.empty() && is_inside(typed_.back())) typed_.pop_back();
  if (!typed_.empty()) typed_.pop_back();
  filter();
}

void PickList::move(int by) {
  if (shown_.empty()) return;
  if (by < 0 && cursor_ > 0) --cursor_;
  if (by > 0 && cursor_ + 1 < shown_.size()) ++cursor_;
}

std::optional<std::size_t> PickList::chosen() const {
  if (shown_.empty()) return std::nullopt;
  return shown_[cursor_];
}

void PickList::filter() {
  shown_.clear();
  cursor_ = 0;
  const std::string wanted = lowered(typed_);
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    if (choices_[i].words.contains(wanted)) shown_.push_back(i);
  }
}

std::optional<std::size_t> pick(CommandContext& context, std::string_view heading,
                                std::vector<Choice> choices) {
  PickList list(std::move(choices));
  const KeyByKey keys(context.signals());
  Drawing drawing(context.talk(), heading);
  for (;;) {
    drawing.draw(list);
    const Key key = take_keys(list, keys.read());
    if (key == Key::more) continue;
    drawing.clear();
    return key == Key::take ? list.chosen() : std::nullopt;
  }
}

}  // namespace perdure::cli
