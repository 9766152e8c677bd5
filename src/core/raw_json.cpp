// Slices of JSON text. Splitting reads the whole text, so a slice is JSON too.

#include "core/api/raw_json.hpp"

#include <cstddef>
#include <expected>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/api/json_text.hpp"
#include "json_reader.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"

namespace perdure {
namespace {

using Reader = JsonReader<false>;

constexpr std::size_t parts_usual = 16;

std::unexpected<Error> not_json(const Reader& reader, std::string_view what) {
  return fail(ErrorCode::invalid_argument, fmt::format("not {}: byte {}: expected {}", what,
                                                       reader.offset(), reader.expected()));
}

// Reads a value and returns the slice it is; empty if it is none.
std::string_view slice_value(Reader& reader, std::string_view text) {
  const auto first = static_cast<std::size_t>(reader.offset());
  if (!reader.read_value(nullptr, 1)) return {};
  return text.substr(first, static_cast<std::size_t>(reader.offset()) - first);
}

// `key` is followed by its closing quote.
std::string unescaped_key(std::string_view key) {
  std::string out;
  JsonReader<true> unescaping(std::string_view(key.data() - 1, key.size() + 2));
  unescaping.read_string(&out);
  return out;
}

bool read_elements(Reader& reader, std::string_view text, std::vector<std::string_view>& out) {
  reader.skip_space();
  if (reader.take(']')) return true;
  do {
    reader.skip_space();
    out.push_back(slice_value(reader, text));
    if (out.back().empty()) return false;
    reader.skip_space();
  } while (reader.take(','));
  return reader.take(']') || reader.refuse("',' or ']'");
}

// Reads one value and appends it, with its parts.
class PartsReader {
 public:
  PartsReader(std::string_view text, RawParts& out) : reader_(text), text_(text), out_(out) {}

  bool read_document() {
    reader_.skip_space();
    out_.list.emplace_back();
    return (reader_.is_at('{') || reader_.refuse("an object")) && read_value(0, 1) &&
           reader_.read_end();
  }

  [[nodiscard]] const Reader& reader() const { return reader_; }

 private:
  bool read_value(std::size_t index, std::size_t depth) {
    const auto first = static_cast<std::size_t>(reader_.offset());
    if (!read_inside(depth)) return false;
    RawPart& part = out_.list[index];
    part.value = text_.substr(first, static_cast<std::size_t>(reader_.offset()) - first);
    part.end = out_.list.size();
    return true;
  }

  bool read_inside(std::size_t depth) {
    if (reader_.is_at('{')) return read_object(depth);
    if (is_array_of_objects()) return read_array(depth);
    return reader_.read_value(nullptr, depth - 1);
  }

  [[nodiscard]] bool is_array_of_objects() const {
    if (!reader_.is_at('[')) return false;
    const auto next =
        text_.find_first_not_of(" \t\r\n", static_cast<std::size_t>(reader_.offset()) + 1);
    return next != std::string_view::npos && text_[next] == '{';
  }

  bool read_object(std::size_t depth) {
    if (depth > json_depth_max) return reader_.refuse("less deep nesting");
    reader_.take('{');
    reader_.skip_space();
    if (reader_.take('}')) return true;
    do {
      reader_.skip_space();
      const std::size_t index = add_part();
      if (!read_key(index) || !read_value(index, depth + 1)) return false;
      reader_.skip_space();
    } while (reader_.take(','));
    return reader_.take('}') || reader_.refuse("',' or '}'");
  }

  bool read_array(std::size_t depth) {
    if (depth > json_depth_max) return reader_.refuse("less deep nesting");
    reader_.take('[');
    do {
      reader_.skip_space();
      if (!read_value(add_part(), depth + 1)) return false;
      reader_.skip_space();
    } while (reader_.take(','));
    return reader_.take(']') || reader_.refuse("',' or ']'");
  }

  std::size_t add_part() {
    out_.list.emplace_back();
    return out_.list.size() - 1;
  }

  bool read_key(std::size_t index) {
    const auto first = static_cast<std::size_t>(reader_.offset());
    const bool is_read =
        (reader_.is_at('"') || reader_.refuse("a key in quotes")) && reader_.read_string(nullptr);
    if (!is_read) return false;
    const auto size = static_cast<std::size_t>(reader_.offset()) - first;
    std::string_view key = text_.substr(first + 1, size - 2);
    if (key.contains('\\')) key = out_.keys.emplace_front(unescaped_key(key));
    out_.list[index].key = key;
    reader_.skip_space();
    if (!reader_.take(':')) return reader_.refuse("':'");
    reader_.skip_space();
    return true;
  }

  Reader reader_;
  std::string_view text_;
  RawParts& out_;
};

}  // namespace

Result<RawJson> RawJson::from_text(std::string text) {
  Reader reader(text);
  if (!reader.read_document(nullptr)) return not_json(reader, "JSON");
  return RawJson(std::move(text));
}

RawJson RawJson::from_value(const Json& value) { return RawJson(value.text()); }

Json RawJson::value() const { return parse_json(text_).value(); }

Result<std::vector<RawMember>> split_object(std::string_view text) {
  auto parts = read_parts(text);
  if (!parts) return forward(parts);
  std::vector<RawMember> members;
  for (std::size_t i = 1; i < parts->list.size(); i = parts->list[i].end) {
    members.push_back({std::string(parts->list[i].key), parts->list[i].value});
  }
  return members;
}

Result<RawParts> read_parts(std::string_view text) {
  RawParts parts;
  parts.list.reserve(parts_usual);
  PartsReader reader(text, parts);
  if (!reader.read_document()) return not_json(reader.reader(), "a JSON object");
  return parts;
}

Result<std::vector<std::string_view>> split_array(std::string_view text) {
  Reader reader(text);
  std::vector<std::string_view> elements;
  reader.skip_space();
  const bool read = (reader.take('[') || reader.refuse("an array")) &&
                    read_elements(reader, text, elements) && reader.read_end();
  if (!read) return not_json(reader, "a JSON array");
  return elements;
}

void ObjectWriter::begin_member(std::string_view key) {
  if (text_.size() > 1) text_.push_back(',');
  append_json_string(text_, key);
  text_.push_back(':');
}

void ObjectWriter::add(std::string_view key, const Json& value) {
  begin_member(key);
  text_ += value.text();
}

void ObjectWriter::add_raw(std::string_view key, std::string_view text) {
  begin_member(key);
  text_ += text;
}

std::string ObjectWriter::finish() {
  text_.push_back('}');
  return std::exchange(text_, "{");
}

}  // namespace perdure
