// Reading is ours: libedit asks for each character, and gets none once `wake` is readable. Its
// own handling of signals stays off. It knows the characters of the locale, and what people type
// is UTF-8: where there is no such locale at all, lines are read as bytes, without editing. The list to
// choose from is drawn again after each key: some lines down, and back up again.
//
// A question is not approved: an empty yes would be told to the model as its answer.

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

#include "context/calls.hpp"
#include "context/command_context.hpp"
#include "core/api/wording.hpp"
#include "runtime/api/state_details.hpp"

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

// What follows the command; nothing: the line is another.
std::optional<std::string> rest_of(std::string_view line, std::string_view command) {
  if (!line.starts_with(command)) return std::nullopt;
  line.remove_prefix(command.size());
  if (!line.empty() && line.front() != ' ') return std::nullopt;
  const auto begin = line.find_first_not_of(' ');
  return begin == std::string_view::npos ? std::string() : std::string(line.substr(begin));
}

// The model is told what was said: "no" is a reason of its own.
std::optional<GivenWord> plain_word(std::string_view line) {
  const auto begin = line.find_first_not_of(" \t");
  const auto end = line.find_last_not_of(" \t.!");
  if (begin == std::string_view::npos || end == std::string_view::npos) return std::nullopt;
  const std::string said = lowered(line.substr(begin, end + 1 - begin));
  if (said == "y" || said == "yes") return GivenWord{.allow = true};
  if (said == "n" || said == "no") return GivenWord{.allow = false, .why = "no"};
  return std::nullopt;
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

  // Whether there is one: `wake` may end the wait, or nothing more comes.
  bool read_byte(char& byte) {
    was_woken = !await_input(wake);
    return !was_woken && ::read(STDIN_FILENO, &byte, 1) == 1;
  }

  // One character, of as many bytes as it takes. Invalid bytes are returned as U+FFFD, and the one
  // that broke a character off is read again.
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

WordLine read_word(std::string_view line, const std::optional<Waiting>& waiting) {
  const bool is_question = waiting && asks_people(waiting->tool);
  if (!line.starts_with('/')) {
    if (is_question) return {.word = GivenWord{.allow = true, .why = std::string(line)}};
    return waiting ? WordLine{.word = plain_word(line)} : WordLine{};
  }
  const auto allowed = rest_of(line, "/approve");
  const auto overruled = rest_of(line, "/overrule");
  const auto denied = rest_of(line, "/deny");
  if (!allowed && !overruled && !denied) return {};
  if (!waiting) return {.complaint = "No call waits for a word."};
  if (!denied && is_question) return {.complaint = "It asks a question: type the answer."};
  if (denied && denied->empty()) return {.complaint = "Say why, for the model: /deny REASON"};
  return {.word = GivenWord{.allow = !denied,
                            .overrules = overruled.has_value(),
                            .why = allowed     ? *allowed
                                   : overruled ? *overruled
                                               : *denied}};
}

Result<void> give_word(Session& session, Position call, const GivenWord& word,
                       const std::string& who) {
  if (session.status() == Status::waiting) {
    auto woken = session.set_status({.status = Status::active}, who, "what it waited for is said");
    if (!woken) return woken;
  }
  if (auto heard = session.take_inbox(); !heard) return forward(heard);
  const OpenCall* const open = find_open_call(session.state(), call);
  const Approval* const before =
      open == nullptr ? nullptr : session.state().details->approvals.find(call, open->args_digest);
  const bool is_denied = before != nullptr && before->decision == ApprovalDecision::refused;
  // An answer to a question makes no call.
  if (!is_denied || !word.allow || asks_people(open->tool)) {
    return session.approve(call, word.allow, who, word.why);
  }
  const std::string by = fmt::format("denied by {} ({})", before->who, before->why);
  if (word.overrules) {
    return session.approve(
        call, true, who,
        fmt::format("{}{}overrules: {}", word.why, word.why.empty() ? "" : "; ", by));
  }
  return fail(ErrorCode::conflict,
              fmt::format("{} was {}. To allow it all the same: /overrule", open->tool, by),
              "call_denied");
}

}  // namespace perdure::cli
