// The grammar of JSON; strict RFC 8259.
//
// Why not simdjson: it cannot keep the token of a number, and it refuses
// integers of 2^64 and more, which providers do send. Both are the promise here.
//
// One grammar serves all who read JSON text: JsonReader<building> is the same
// code, and what builds is compiled out of JsonReader<false>. So they cannot
// disagree about what JSON is.
//
// Recursive, one frame per level of nesting and never more than json_depth_max
// of them. Every byte is looked at once.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "json_number.hpp"
#include "perdure/core/json.hpp"
#include "utf8.hpp"

namespace perdure {

constexpr bool is_high_surrogate(unsigned unit) { return unit >= 0xD800 && unit <= 0xDBFF; }
constexpr bool is_low_surrogate(unsigned unit) { return unit >= 0xDC00 && unit <= 0xDFFF; }

// A surrogate gets its three bytes like any other character of the basic plane:
// that is WTF-8.
inline void append_code_point(std::string& out, unsigned code) {
  const auto put = [&out](unsigned byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    put(code);
    return;
  }
  if (code < 0x800) {
    put(0xC0 | (code >> 6));
  } else if (code < 0x10000) {
    put(0xE0 | (code >> 12));
    put(0x80 | ((code >> 6) & 0x3F));
  } else {
    put(0xF0 | (code >> 18));
    put(0x80 | ((code >> 12) & 0x3F));
    put(0x80 | ((code >> 6) & 0x3F));
  }
  put(0x80 | (code & 0x3F));
}

constexpr int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// The letters of escapes, and the character that each stands for. `\/` is read too.
inline constexpr std::string_view escape_letters = "\"\\bfnrt";
inline constexpr std::string_view escaped_characters = "\"\\\b\f\n\r\t";

/// 0: no escape has that letter.
constexpr char unescaped(char letter) {
  if (letter == '/') return letter;
  const std::size_t at = escape_letters.find(letter);
  return at == std::string_view::npos ? '\0' : escaped_characters[at];
}

// Turns an empty Json into a value of one kind and lends out its inside, so that
// nested values are read in place and never moved.
class JsonBuilder {
 public:
  static void boolean(Json& json, bool value) { json.value_.emplace<bool>(value); }
  static void number(Json& json, const char* begin, const char* end) {
    json.value_.emplace<Json::Number>(std::string(begin, end));
  }
  static std::string& string(Json& json) { return json.value_.emplace<std::string>(); }
  static Json::Array& array(Json& json) { return json.value_.emplace<Json::Array>(); }
  static Json::Object& object(Json& json) { return json.value_.emplace<Json::Object>(); }
};

// Most containers of a transcript are this small; growing from one would move
// their first elements three times.
inline constexpr std::size_t container_capacity = 4;

// Every read… method starts at what it reads and returns false after
// refuse(). Targets (`Json*`, `std::string*`) are null when nothing is built.
template <bool building>
class JsonReader {
 public:
  explicit JsonReader(std::string_view text)
      : begin_(text.data()), p_(text.data()), end_(text.data() + text.size()) {}

  bool read_document(Json* out) {
    skip_space();
    return read_value(out, 0) && read_end();
  }

  bool read_end() {
    skip_space();
    return p_ == end_ || refuse("the end of the text");
  }

  [[nodiscard]] std::ptrdiff_t offset() const { return p_ - begin_; }
  [[nodiscard]] const char* expected() const { return expected_; }

  // The pieces of the grammar, for callers that want parts of a text (raw_json.cpp).
  bool refuse(const char* expected) {
    expected_ = expected;
    return false;
  }

  [[nodiscard]] bool is_at(char c) const { return p_ != end_ && *p_ == c; }

  bool take(char c) {
    if (!is_at(c)) return false;
    ++p_;
    return true;
  }

  void skip_space() {
    while (p_ != end_ && (*p_ == ' ' || *p_ == '\n' || *p_ == '\r' || *p_ == '\t')) ++p_;
  }

  bool read_value(Json* out, std::size_t depth) {
    if (p_ == end_) return refuse("a value");
    switch (*p_) {
      case '{':
        return read_object(out, depth + 1);
      case '[':
        return read_array(out, depth + 1);
      case '"':
        if constexpr (building) return read_string(&JsonBuilder::string(*out));
        return read_string(nullptr);
      case 't':
        if constexpr (building) JsonBuilder::boolean(*out, true);
        return read_word("true");
      case 'f':
        if constexpr (building) JsonBuilder::boolean(*out, false);
        return read_word("false");
      case 'n':
        return read_word("null");
      default:
        return read_number(out);
    }
  }

  bool read_word(std::string_view word) {
    if (!std::string_view(p_, end_).starts_with(word)) return refuse("a value");
    p_ += word.size();
    return true;
  }

  bool read_number(Json* out) {
    if (*p_ != '-' && (*p_ < '0' || *p_ > '9')) return refuse("a value");
    const NumberScan scan = scan_number(p_, end_);
    if constexpr (building) JsonBuilder::number(*out, p_, scan.end);
    p_ = scan.end;
    return scan.expected == nullptr || refuse(scan.expected);
  }

  bool read_array(Json* out, std::size_t depth) {
    if (depth > json_depth_max) return refuse("less deep nesting");
    ++p_;
    [[maybe_unused]] Json::Array* array = nullptr;
    if constexpr (building) array = &JsonBuilder::array(*out);
    skip_space();
    if (take(']')) return true;
    if constexpr (building) array->reserve(container_capacity);
    do {
      skip_space();
      Json* element = nullptr;
      if constexpr (building) element = &array->emplace_back();
      if (!read_value(element, depth)) return false;
      skip_space();
    } while (take(','));
    return take(']') || refuse("',' or ']'");
  }

  bool read_object(Json* out, std::size_t depth) {
    if (depth > json_depth_max) return refuse("less deep nesting");
    ++p_;
    [[maybe_unused]] Json::Object* object = nullptr;
    if constexpr (building) object = &JsonBuilder::object(*out);
    skip_space();
    if (take('}')) return true;
    if constexpr (building) object->reserve(container_capacity);
    do {
      skip_space();
      Json::Member* member = nullptr;
      if constexpr (building) member = &object->emplace_back();
      if (!read_member(member, depth)) return false;
      skip_space();
    } while (take(','));
    return take('}') || refuse("',' or '}'");
  }

  bool read_member(Json::Member* out, std::size_t depth) {
    if (!is_at('"')) return refuse("a key in quotes");
    std::string* key = nullptr;
    Json* value = nullptr;
    if constexpr (building) {
      key = &out->first;
      value = &out->second;
    }
    if (!read_string(key)) return false;
    skip_space();
    if (!take(':')) return refuse("':'");
    skip_space();
    return read_value(value, depth);
  }

  bool read_string(std::string* out) {
    const char* run = ++p_;
    for (;;) {
      if (!skip_unescaped()) return false;
      if constexpr (building) out->append(run, p_);
      if (*p_ == '"') break;
      if (!read_escape(out)) return false;
      run = p_;
    }
    ++p_;
    return true;
  }

  // Passes everything that stands for itself: ends before a quote or a backslash.
  bool skip_unescaped() {
    for (;;) {
      p_ = plain_run_end(p_, end_);
      if (p_ == end_) return refuse("the closing quote of a string");
      if (*p_ == '"' || *p_ == '\\') return true;
      // Texts in other scripts are long runs of this.
      while (p_ != end_ && static_cast<std::uint8_t>(*p_) >= 0x80) {
        const std::size_t bytes = utf8_sequence_bytes(p_, end_);
        if (bytes == 0) return refuse("valid UTF-8");
        p_ += bytes;
      }
      if (p_ != end_ && static_cast<std::uint8_t>(*p_) < 0x20) {
        return refuse("no control character in a string (escape it)");
      }
    }
  }

  bool read_escape([[maybe_unused]] std::string* out) {
    ++p_;
    if (p_ == end_) return refuse("an escape character");
    if (*p_ == 'u') return read_unicode_escape(out);
    const char c = unescaped(*p_);
    if (c == 0) return refuse("one of \"\\/bfnrtu after a backslash");
    if constexpr (building) out->push_back(c);
    ++p_;
    return true;
  }

  bool read_unicode_escape([[maybe_unused]] std::string* out) {
    ++p_;
    unsigned code = 0;
    if (!read_hex(code)) return false;
    if (is_high_surrogate(code) && end_ - p_ >= 2 && p_[0] == '\\' && p_[1] == 'u') {
      const char* const second = p_;
      p_ += 2;
      unsigned low = 0;
      if (!read_hex(low)) return false;
      if (is_low_surrogate(low)) {
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
      } else {
        p_ = second;
      }
    }
    if constexpr (building) append_code_point(*out, code);
    return true;
  }

  bool read_hex(unsigned& unit) {
    for (int i = 0; i < 4; ++i, ++p_) {
      const int digit = p_ == end_ ? -1 : hex_value(*p_);
      if (digit < 0) return refuse("four hexadecimal digits after \\u");
      unit = unit * 16 + static_cast<unsigned>(digit);
    }
    return true;
  }

 private:
  const char* begin_;
  const char* p_;
  const char* end_;
  const char* expected_ = nullptr;
};

}  // namespace perdure
