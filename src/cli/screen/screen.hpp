// One of the two streams, as people see it: lines of coloured pieces, tables, a progress bar, a notice of a
// wait. All text that goes through here is made visible first (text.hpp), so no verb can forget to. And what a
// verb prints for programs: one JSON document, or one JSON object a line. Items go out as they come: a list
// of any length takes no memory here.

#pragma once

// IWYU pragma: begin_exports
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "perdure/core/json.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/upkeep.hpp"
#include "screen/text.hpp"
// IWYU pragma: end_exports

namespace perdure::cli {

enum class Ink : std::uint8_t { plain, bold, dim, red, green, yellow, cyan };

struct Piece {
  std::string text;
  Ink ink = Ink::plain;
};

class Screen {
 public:
  struct Traits {
    bool is_terminal = false;
    bool has_colour = false;
    std::size_t columns = 80;
    bool is_silent = false;     ///< Nothing is written.
    bool takes_escapes = true;  ///< Of a terminal: it says of itself that it is more than dumb.
  };

  Screen(std::ostream& stream, Traits traits) : stream_(stream), traits_(traits) {}

  /// Blanks at its end are left out.
  void line(const std::vector<Piece>& pieces);
  void line(std::string_view text) { line({Piece{std::string(text)}}); }
  /// Text of any number of lines; ends with a line break.
  void text(std::string_view text, Lines lines = Lines::many);
  /// Bytes as they are: JSON, and what was asked for raw.
  void bytes(std::string_view bytes);
  void flush();
  void resize(std::size_t columns) { traits_.columns = columns; }

  [[nodiscard]] bool is_terminal() const { return traits_.is_terminal; }
  /// Whether what is drawn can be taken back and drawn again.
  [[nodiscard]] bool can_redraw() const { return traits_.is_terminal && traits_.takes_escapes; }
  [[nodiscard]] std::size_t columns() const { return traits_.columns; }
  /// False once the reader is gone, or it cannot be written.
  [[nodiscard]] bool is_open() const;

 private:
  std::ostream& stream_;
  Traits traits_;
};

enum class Form : std::uint8_t { people, json, jsonl };

class Output {
 public:
  /// `fields`: the members that items are printed with; empty: all.
  Output(std::ostream& stream, Form form, std::vector<std::string> fields = {})
      : stream_(stream), form_(form), fields_(std::move(fields)) {}

  [[nodiscard]] bool is_json() const { return form_ != Form::people; }

  /// A list: `{"schema": …, "items": […], …}`, or a line for each item. Printed from its first item
  /// on, or from its end.
  void begin_list(std::string_view schema);
  void item(Json item);
  /// `rest`: further members of the document; not for lines.
  void end_list(const Json::Object& rest = {});

  /// Closes a list that something failed in, so that what was printed of it is JSON.
  void close_list();

  /// One thing.
  void document(std::string_view schema, Json::Object members);

 private:
  [[nodiscard]] Json chosen_of(Json item) const;
  void write(const Json& value, std::string_view after);
  /// Before each item, and before the end of a list without one.
  void begin_printing();

  std::ostream& stream_;
  Form form_;
  std::vector<std::string> fields_;
  std::string schema_;
  bool is_begun_ = false;  ///< Something of the list is printed.
};

struct Column {
  std::string_view heading;
  bool is_right = false;  ///< Numbers.
  std::size_t least = 0;  ///< Gives way down to so many columns; 0: never.
  int drop = 0;           ///< Left out on a narrow terminal, the highest first; 0: never.
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// A piece for each column.
  void add(std::vector<Piece> row);
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  void print(Screen& screen) const;

 private:
  [[nodiscard]] std::vector<std::size_t> natural_widths() const;
  void fit(std::vector<std::size_t>& widths, std::size_t room) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Piece>> rows_;
};

class ProgressBar {
 public:
  ProgressBar(Screen& talk, const Clock& clock, std::string what);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// For as long as this object lives.
  [[nodiscard]] Progress follow();

 private:
  void draw(const Step& step);

  Screen& talk_;
  const Clock& clock_;
  std::string what_;
  Uptime next_;
  bool is_drawn_ = false;
};

/// Nothing else writes to `talk` while this lives.
class WaitNotice {
 public:
  WaitNotice(Screen& talk, std::string what, Duration after);

 private:
  std::jthread thread_;
};

}  // namespace perdure::cli
