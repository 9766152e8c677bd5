// RFC 8785, with exact integers (see the header).

#include "perdure/core/canonical_json.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <fmt/format.h>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "json_number.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/json_text.hpp"
#include "perdure/core/text.hpp"

namespace perdure {

namespace {

constexpr double exact_integer_max = 9007199254740992;  // 2^53

std::unexpected<Error> refuse(std::string_view why) {
  return fail(ErrorCode::invalid_argument, fmt::format("no canonical JSON: {}", why));
}

// Orders valid UTF-8 as UTF-16 code units would be. The two differ only where
// one character is U+E000 to U+FFFF (first byte EE or EF) and the other lies
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
