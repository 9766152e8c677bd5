// JSON text to a value, or only to a yes; and a value as text.
//
// Recursive, as the destructor of the value itself is: a value that can be held
// can be written.

#include "perdure/core/json_text.hpp"

#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <string>
#include <string_view>

#include "json_reader.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/text.hpp"
#include "utf8.hpp"

namespace perdure {

namespace {

constexpr std::string_view hex_digits = "0123456789abcdef";

void append_unicode_escape(std::string& out, unsigned unit) {
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out.push_back(hex_digits[(unit >> shift) & 15]);
}

void append_escaped(std::string& out, char c) {
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\b':
      out += "\\b";
      return;
    case '\t':
      out += "\\t";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\f':
      out += "\\f";
      return;
    case '\r':
      out += "\\r";
      return;
    default:
      append_unicode_escape(out, static_cast<std::uint8_t>(c));
  }
}

// Passes everything that stands for itself, in whatever script.
const char* skip_unescaped(const char* p, const char* end) {
  for (;;) {
    p = plain_run_end(p, end);
    const char* const before = p;
    while (p != end && static_cast<std::uint8_t>(*p) >= 0x80) {
      const std::size_t bytes = utf8_sequence_bytes(p, end);
      if (bytes == 0) return p;
      p += bytes;
    }
    if (p == before) return p;
  }
}

// Appends the one thing at `p` that cannot stand for itself and returns the place after it.
const char* append_special(std::string& out, const char* p, const char* end) {
  if (static_cast<std::uint8_t>(*p) < 0x80) {
    append_escaped(out, *p);
    return p + 1;
  }
  if (is_surrogate_at(p, end)) {
    const auto middle = static_cast<std::uint8_t>(p[1]);
    const auto low = static_cast<std::uint8_t>(p[2]);
    append_unicode_escape(out, 0xD000u | ((middle & 0x3Fu) << 6) | (low & 0x3Fu));
    return p + 3;
  }
  out += "\xEF\xBF\xBD";
  return p + 1;
}

void append(std::string& out, const Json& value);

void append_array(std::string& out, const Json::Array& array) {
  char separator = '[';
  for (const Json& element : array) {
    out.push_back(separator);
    append(out, element);
    separator = ',';
  }
  if (array.empty()) out.push_back('[');
  out.push_back(']');
}

void append_object(std::string& out, const Json::Object& object) {
  char separator = '{';
  for (const auto& [key, value] : object) {
    out.push_back(separator);
    append_json_string(out, key);
    out.push_back(':');
    append(out, value);
    separator = ',';
  }
  if (object.empty()) out.push_back('{');
  out.push_back('}');
}

void append(std::string& out, const Json& value) {
  switch (value.kind()) {
    case Json::Kind::null:
      out += "null";
      return;
    case Json::Kind::boolean:
      out += *value.as_bool() ? "true" : "false";
      return;
    case Json::Kind::number:
      out += *value.number_token();
      return;
    case Json::Kind::string:
      append_json_string(out, *value.as_string());
      return;
    case Json::Kind::array:
      append_array(out, *value.as_array());
      return;
    case Json::Kind::object:
      append_object(out, *value.as_object());
      return;
  }
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  out.push_back('"');
  const char* const end = text.data() + text.size();
  for (const char* p = text.data(); p != end;) {
    const char* const run_end = skip_unescaped(p, end);
    out.append(p, run_end);
    p = run_end == end ? end : append_special(out, run_end, end);
  }
  out.push_back('"');
}

std::string Json::text() const {
  std::string out;
  append(out, *this);
  return out;
}

bool fits_json(std::string_view bytes) {
  if (is_utf8(bytes)) return true;
  const auto read = parse_json(Json(bytes).text());
  return read && *read->as_string() == bytes;
}

Result<Json> parse_json(std::string_view text) {
  JsonReader<true> reader(text);
  Json value;
  if (!reader.read_document(&value)) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("not JSON: byte {}: expected {}", reader.offset(), reader.expected()));
  }
  return value;
}

bool has_too_many_values(std::string_view json) {
  if (json.size() / 2 < json_values_max) return false;
  std::size_t values = 0;
  bool is_string = false;
  for (std::size_t i = 0; i < json.size() && values <= json_values_max; ++i) {
    const char c = json[i];
    if (is_string && c == '\\') ++i;
    if (c == '"') is_string = !is_string;
    if (!is_string && (c == ',' || c == '[' || c == '{')) ++values;
  }
  return values > json_values_max;
}

Result<Json> parse_foreign_json(std::string_view text) {
  if (has_too_many_values(text)) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("JSON of more than {} values", json_values_max));
  }
  return parse_json(text);
}

bool is_json(std::string_view text) { return JsonReader<false>(text).read_document(nullptr); }

}  // namespace perdure
