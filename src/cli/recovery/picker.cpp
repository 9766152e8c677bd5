// The screen is drawn anew after each key: some lines down, and back up again.

#include "recovery/picker.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <fmt/format.h>
#include <optional>
#include <poll.h>
#include <string>
#include <string_view>
#include <termios.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "context/command_context.hpp"
#include "screen/text.hpp"

namespace perdure::cli {
namespace {

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
    std::array<pollfd, 2> inputs{
        pollfd{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0},
        pollfd{.fd = signals_.descriptor(), .events = POLLIN, .revents = 0}};
    while (::poll(inputs.data(), inputs.size(), -1) < 0 && errno == EINTR) {
    }
    if (inputs[1].revents != 0) return {};
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
                                std::vector<Choice> choices, SignalWatch& signals) {
  PickList list(std::move(choices));
  const KeyByKey keys(signals);
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
