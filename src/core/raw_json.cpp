// Slices of JSON text. Splitting reads the whole text, so a slice is JSON too.

#include "core/api/raw_json.hpp"

#include <cstddef>
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

constexpr std::size_t members_usual = 8;

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

bool read_key(Reader& reader, std::string_view text, std::string& key) {
  if (!reader.is_at('"')) return reader.refuse("a key in quotes");
  const auto first = static_cast<std::size_t>(reader.offset());
  if (!reader.read_string(nullptr)) return false;
  const auto size = static_cast<std::size_t>(reader.offset()) - first;
  key = text.substr(first + 1, size - 2);
  if (key.contains('\\')) {
    key.clear();
    JsonReader<true> unescaping(text.substr(first));
    unescaping.read_string(&key);
  }
  reader.skip_space();
  if (!reader.take(':')) return reader.refuse("':'");
  reader.skip_space();
  return true;
}

bool read_members(Reader& reader, std::string_view text, std::vector<RawMember>& out) {
  reader.skip_space();
  if (reader.take('}')) return true;
  out.reserve(members_usual);
  do {
    reader.skip_space();
    RawMember& member = out.emplace_back();
    if (!read_key(reader, text, member.key)) return false;
    member.value = slice_value(reader, text);
    if (member.value.empty()) return false;
    reader.skip_space();
  } while (reader.take(','));
  return reader.take('}') || reader.refuse("',' or '}'");
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

}  // namespace

Result<RawJson> RawJson::from_text(std::string text) {
  Reader reader(text);
  if (!reader.read_document(nullptr)) return not_json(reader, "JSON");
  return RawJson(std::move(text));
}

RawJson RawJson::from_value(const Json& value) { return RawJson(value.text()); }

Json RawJson::value() const { return parse_json(text_).value(); }

Result<std::vector<RawMember>> split_object(std::string_view text) {
  Reader reader(text);
  std::vector<RawMember> members;
  reader.skip_space();
  const bool read = (reader.take('{') || reader.refuse("an object")) &&
                    read_members(reader, text, members) && reader.read_end();
  if (!read) return not_json(reader, "a JSON object");
  return members;
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
