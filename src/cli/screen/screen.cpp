// Colours are the eight that every terminal has; meaning never rests on them alone. Every line of JSON
// names its schema: a line may be read alone.

#include "screen/screen.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "perdure/core/json.hpp"
#include "screen/text.hpp"

namespace perdure::cli {
namespace {

// In the order of Ink.
constexpr std::array<std::string_view, 7> ink_codes = {
    "", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[36m"};

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
  screen_.bytes(json_visible(value.text()));
  screen_.bytes(after);
}

void Output::begin_list(std::string_view schema) {
  schema_ = schema;
  is_begun_ = false;
}

void Output::begin_printing() {
  if (std::exchange(is_begun_, true)) return;
  screen_.bytes("{\"schema\":");
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
    screen_.bytes(is_first ? "\n" : ",\n");
    write(item, "");
  }
}

void Output::end_list(const Json::Object& rest) {
  if (form_ != Form::json) return;
  begin_printing();
  is_begun_ = false;
  screen_.bytes("]");
  for (const auto& [name, value] : rest) {
    screen_.bytes(",");
    write(Json(name), ":");
    write(value, "");
  }
  screen_.bytes("}\n");
}

void Output::close_list() {
  if (is_begun_) end_list();
}

void Output::document(std::string_view schema, Json::Object members) {
  if (form_ == Form::people) return;
  members.insert(members.begin(), {"schema", Json(schema)});
  write(Json(std::move(members)), "\n");
}

}  // namespace perdure::cli
