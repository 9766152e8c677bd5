// Colours are the eight that every terminal has; meaning never rests on them alone. Every line of JSON
// names its schema: a line may be read alone. Work that is done at once shows no bar: the first one is drawn
// after a while.

#include "screen/screen.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <fmt/format.h>
#include <iterator>
#include <mutex>
#include <ostream>
#include <stop_token>

namespace perdure::cli {
namespace {

// In the order of Ink.
constexpr std::array<std::string_view, 7> ink_codes = {
    "", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[36m"};

constexpr std::size_t gap = 2;

std::vector<Piece> padded(const std::vector<Piece>& row, const std::vector<Column>& columns,
                          const std::vector<std::size_t>& widths) {
  std::vector<Piece> line;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const std::string text = clipped(row[i].text, widths[i]);
    const std::string room(widths[i] - std::min(widths[i], width_of(text)), ' ');
    const bool is_last = i + 1 == row.size();
    if (widths[i] == 0) continue;
    if (i > 0) line.push_back({std::string(gap, ' ')});
    if (columns[i].is_right) line.push_back({room});
    line.push_back({text, row[i].ink});
    if (!columns[i].is_right && !is_last) line.push_back({room});
  }
  return line;
}

constexpr Duration patience = std::chrono::milliseconds(300);
constexpr Duration between_bars = std::chrono::milliseconds(100);
constexpr std::size_t longest_bar = 30;
constexpr std::size_t beside_bar = 7;  // Two blanks, the share, and one column that stays free.

}  // namespace

void Screen::line(const std::vector<Piece>& pieces) {
  if (traits_.is_silent) return;
  const auto is_blank = [](const Piece& piece) {
    return piece.text.find_first_not_of(' ') == std::string::npos;
  };
  const auto end = std::find_if_not(pieces.rbegin(), pieces.rend(), is_blank).base();
  for (auto at = pieces.begin(); at != end; ++at) {
    Piece piece = *at;
    if (std::next(at) == end) piece.text.erase(piece.text.find_last_not_of(' ') + 1);
    const bool is_coloured = traits_.has_colour && piece.ink != Ink::plain && !piece.text.empty();
    if (is_coloured) stream_ << ink_codes.at(std::to_underlying(piece.ink));
    stream_ << visible(piece.text);
    if (is_coloured) stream_ << "\x1b[0m";
  }
  stream_ << '\n';
}

void Screen::text(std::string_view text, Lines lines) {
  if (traits_.is_silent) return;
  stream_ << visible(text, lines);
  if (!text.ends_with('\n')) stream_ << '\n';
}

void Screen::bytes(std::string_view bytes) {
  if (!traits_.is_silent) stream_ << bytes;
}

void Screen::flush() { stream_.flush(); }

bool Screen::is_open() const { return stream_.good(); }

void Output::write(const Json& value, std::string_view after) {
  stream_ << json_visible(value.text()) << after;
}

void Output::begin_list(std::string_view schema) {
  schema_ = schema;
  is_begun_ = false;
}

void Output::begin_printing() {
  if (std::exchange(is_begun_, true)) return;
  stream_ << "{\"schema\":";
  write(Json(schema_), ",\"items\":[");
}

// A member that an item may have and this one has not is left out.
Json Output::chosen_of(Json item) const {
  if (fields_.empty()) return item;
  Json::Object chosen;
  for (const std::string& field : fields_) {
    if (const Json* member = item.find(field)) chosen.emplace_back(field, *member);
  }
  return chosen;
}

void Output::item(Json whole) {
  if (form_ == Form::people) return;
  Json item = chosen_of(std::move(whole));
  if (form_ == Form::jsonl) {
    Json::Object line = {{"schema", schema_}};
    for (Json::Member& member : *item.as_object()) line.push_back(std::move(member));
    write(Json(std::move(line)), "\n");
  } else if (form_ == Form::json) {
    const bool is_first = !is_begun_;
    begin_printing();
    stream_ << (is_first ? "\n" : ",\n");
    write(item, "");
  }
}

void Output::end_list(const Json::Object& rest) {
  if (form_ != Form::json) return;
  begin_printing();
  is_begun_ = false;
  stream_ << "]";
  for (const auto& [name, value] : rest) {
    stream_ << ",";
    write(Json(name), ":");
    write(value, "");
  }
  stream_ << "}\n";
}

void Output::close_list() {
  if (is_begun_) end_list();
}

void Output::document(std::string_view schema, Json::Object members) {
  if (form_ == Form::people) return;
  members.insert(members.begin(), {"schema", Json(schema)});
  write(Json(std::move(members)), "\n");
}

void Table::add(std::vector<Piece> row) {
  for (Piece& piece : row) piece.text = visible(piece.text);
  rows_.push_back(std::move(row));
}

std::vector<std::size_t> Table::natural_widths() const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    widths.push_back(width_of(columns_[i].heading));
    for (const auto& row : rows_) widths[i] = std::max(widths[i], width_of(row[i].text));
  }
  return widths;
}

void Table::fit(std::vector<std::size_t>& widths, std::size_t room) const {
  const auto total = [&] {
    std::size_t sum = 0;
    for (const std::size_t width : widths) sum += width == 0 ? 0 : width + gap;
    return sum - gap;
  };
  for (std::size_t i = columns_.size(); i-- > 0 && total() > room;) {
    if (columns_[i].least == 0 || widths[i] <= columns_[i].least) continue;
    widths[i] -= std::min(total() - room, widths[i] - columns_[i].least);
  }
  while (total() > room) {
    const auto first = std::ranges::max_element(columns_, {}, [&](const Column& column) {
      return widths[static_cast<std::size_t>(&column - columns_.data())] == 0 ? 0 : column.drop;
    });
    std::size_t& width = widths[static_cast<std::size_t>(first - columns_.begin())];
    if (first->drop == 0 || width == 0) return;
    width = 0;
  }
}

void Table::print(Screen& screen) const {
  auto widths = natural_widths();
  if (screen.is_terminal()) fit(widths, screen.columns());
  std::vector<Piece> heading;
  for (const Column& column : columns_) heading.push_back({std::string(column.heading), Ink::bold});
  screen.line(padded(heading, columns_, widths));
  for (const auto& row : rows_) screen.line(padded(row, columns_, widths));
}

ProgressBar::ProgressBar(Screen& talk, const Clock& clock, std::string what)
    : talk_(talk), clock_(clock), what_(std::move(what)), next_(clock.uptime() + patience) {}

ProgressBar::~ProgressBar() {
  if (is_drawn_) talk_.bytes("\r\x1b[K");
}

Progress ProgressBar::follow() {
  return [this](const Step& step) {
    if (talk_.can_redraw() && clock_.uptime() >= next_) draw(step);
    return true;
  };
}

void ProgressBar::draw(const Step& step) {
  next_ = clock_.uptime() + between_bars;
  is_drawn_ = true;
  const auto total = std::max<std::uint64_t>(step.total, 1);
  const std::uint64_t share = std::min<std::uint64_t>(100, step.done * 100 / total);
  // A line that is too long would be two, and only the second is taken back.
  const std::size_t taken = std::min(talk_.columns(), width_of(what_) + beside_bar);
  const std::size_t bar_columns = std::min(longest_bar, talk_.columns() - taken);
  const std::size_t full = share * bar_columns / 100;
  std::string bar;
  for (std::size_t i = 0; i < bar_columns; ++i) bar += i < full ? "█" : "░";
  talk_.bytes(fmt::format("\r{} {} {:3}%\x1b[K", what_, bar, share));
  talk_.flush();
}

WaitNotice::WaitNotice(Screen& talk, std::string what, Duration after)
    : thread_([&talk, after, what = std::move(what)](const std::stop_token& stop) {
        std::mutex mutex;
        std::unique_lock lock(mutex);
        std::condition_variable_any().wait_for(lock, stop, after, [] { return false; });
        if (stop.stop_requested()) return;
        talk.line(what);
        talk.flush();
      }) {}

}  // namespace perdure::cli
