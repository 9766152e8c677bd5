// JSON text to a value, or only to a yes; and a value as text.
//
// Recursive, as the destructor of the value itself is: a value that can be held
// can be written.

#include "core/api/json_text.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <fmt/format.h>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/api/text.hpp"
#include "json_number.hpp"
#include "json_reader.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "utf8.hpp"

namespace perdure {

namespace {

constexpr std::string_view hex_digits = "0123456789abcdef";

void append_unicode_escape(std::string& out, unsigned unit) {
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out.push_back(hex_digits[(unit >> shift) & 15]);
}

void append_escaped(std::string& out, char c) {
  const std::size_t at = escaped_characters.find(c);
  if (at == std::string_view::npos) return append_unicode_escape(out, static_cast<std::uint8_t>(c));
  out += '\\';
  out += escape_letters[at];
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

namespace {

constexpr double exact_integer_max = 9007199254740992;  // 2^53

std::unexpected<Error> refuse(std::string_view why) {
  return fail(ErrorCode::invalid_argument, fmt::format("no canonical JSON: {}", why));
}

// Orders valid UTF-8 as UTF-16 code units would be. The two differ only where
// one character is U+E000 to U+FFFF (first byte EE or EF) and the other is
// beyond the basic plane (F0 to F4), whose surrogates are smaller than those.
bool is_before_in_utf16(std::string_view a, std::string_view b) {
  const auto [in_a, in_b] = std::ranges::mismatch(a, b);
  if (in_a == a.end() || in_b == b.end()) return in_a == a.end() && in_b != b.end();
  const auto rank = [](char c) {
    const unsigned byte = static_cast<std::uint8_t>(c);
    return byte == 0xEE || byte == 0xEF ? byte + 0x10 : byte;
  };
  return rank(*in_a) < rank(*in_b);
}

class CanonicalWriter {
 public:
  Result<void> write(const Json& value, std::size_t depth) {
    switch (value.kind()) {
      case Json::Kind::null:
        out_ += "null";
        return {};
      case Json::Kind::boolean:
        out_ += *value.as_bool() ? "true" : "false";
        return {};
      case Json::Kind::number:
        return write_number(value);
      case Json::Kind::string:
        return write_string(*value.as_string());
      case Json::Kind::array:
        return write_array(*value.as_array(), depth + 1);
      case Json::Kind::object:
        return write_object(*value.as_object(), depth + 1);
    }
    return {};
  }

  [[nodiscard]] std::string take() && { return std::move(out_); }

 private:
  Result<void> write_number(const Json& value) {
    const std::string& token = *value.number_token();
    const auto number = value.as_double();
    const bool is_beyond = !number || *number >= exact_integer_max || *number <= -exact_integer_max;
    if (is_beyond && is_integer_token(token)) {
      out_ += token;
      return {};
    }
    if (!number) return refuse(fmt::format("no double holds {:.40}", token));
    out_ += es6_number(*number);
    return {};
  }

  Result<void> write_string(const std::string& text) {
    if (!is_utf8(text)) return refuse("a string has a lone surrogate or is not UTF-8");
    append_json_string(out_, text);
    return {};
  }

  Result<void> write_array(const Json::Array& array, std::size_t depth) {
    if (depth > json_depth_max) return refuse("it is nested too deep");
    out_.push_back('[');
    for (std::size_t i = 0; i < array.size(); ++i) {
      if (i > 0) out_.push_back(',');
      auto written = write(array[i], depth);
      if (!written) return written;
    }
    out_.push_back(']');
    return {};
  }

  Result<void> write_object(const Json::Object& object, std::size_t depth) {
    if (depth > json_depth_max) return refuse("it is nested too deep");
    std::vector<const Json::Member*> members;
    members.reserve(object.size());
    for (const Json::Member& member : object) members.push_back(&member);
    const auto key = [](const Json::Member* member) -> std::string_view { return member->first; };
    std::ranges::sort(members, is_before_in_utf16, key);
    const auto twin = std::ranges::adjacent_find(members, std::ranges::equal_to{}, key);
    if (twin != members.end()) return refuse("an object has the same key twice");

    out_.push_back('{');
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (i > 0) out_.push_back(',');
      auto written = write_string(members[i]->first);
      if (!written) return written;
      out_.push_back(':');
      written = write(members[i]->second, depth);
      if (!written) return written;
    }
    out_.push_back('}');
    return {};
  }

  std::string out_;
};

}  // namespace

Result<std::string> canonical_json(const Json& value) {
  CanonicalWriter writer;
  auto written = writer.write(value, 0);
  if (!written) return forward(written);
  return std::move(writer).take();
}

}  // namespace perdure
