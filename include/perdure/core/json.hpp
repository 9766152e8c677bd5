// JSON as it was given.
//
// What a provider sent is evidence and must be sent back unchanged, so a Json loses nothing but
// white space and the spelling of escapes: objects keep the order of their keys, and duplicate
// keys; a number keeps its token (1.0, 1e400 and 12345678901234567890 stay as they are). Strings
// hold UTF-8; a lone surrogate escape ("\ud83d") is held in its three-byte WTF-8 form and written
// back as the escape.

#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "perdure/core/error.hpp"

namespace perdure {

/// How deep arrays and objects may nest in a text that is read.
inline constexpr std::size_t json_depth_max = 256;

/// Any integer type; a character or a bool is not a number.
template <class T>
concept JsonInteger = std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char> &&
                      !std::same_as<T, wchar_t> && !std::same_as<T, char8_t> &&
                      !std::same_as<T, char16_t> && !std::same_as<T, char32_t>;

class Json;

/// What Json::get reads.
template <class T>
concept JsonReadable =
    std::same_as<T, bool> || std::same_as<T, std::int64_t> || std::same_as<T, std::uint64_t> ||
    std::same_as<T, double> || std::same_as<T, std::string> || std::same_as<T, Json>;

/// A value type. Thread safety: as a std::vector.
class Json {
 public:
  enum class Kind { null, boolean, number, string, array, object };

  /// The elements. One Array in braces is a copy of it, by every compiler: an array of one array is
  /// `Json::Array::of(Json::Array{1, 2})`.
  class Array : public std::vector<Json> {
   public:
    Array() noexcept {}
    template <class Value>
      requires(!std::derived_from<std::remove_cvref_t<Value>, Array>) &&
              std::convertible_to<Value, Json>
    explicit Array(Value&& value) {
      append(std::forward<Value>(value));
    }
    template <std::convertible_to<Json> First, std::convertible_to<Json> Second,
              std::convertible_to<Json>... Rest>
    Array(First&& first, Second&& second, Rest&&... rest) {
      append(std::forward<First>(first), std::forward<Second>(second), std::forward<Rest>(rest)...);
    }
    template <std::input_iterator Iterator>
      requires(!std::convertible_to<Iterator, Json>)
    Array(Iterator first, Iterator last) : std::vector<Json>(first, last) {}

    /// An array of exactly these values, also if the only one is an array.
    template <std::convertible_to<Json>... Values>
    [[nodiscard]] static Array of(Values&&... values) {
      Array array;
      array.append(std::forward<Values>(values)...);
      return array;
    }

   private:
    template <class... Values>
    void append(Values&&... values) {
      reserve(sizeof...(values));
      (emplace_back(std::forward<Values>(values)), ...);
    }
  };
  using Member = std::pair<std::string, Json>;
  using Object = std::vector<Member>;

  // Implicit, so that a literal reads like its JSON: `Json(Json::Object{{"role", "user"}})`.
  Json() = default;
  Json(std::nullptr_t) {}
  Json(std::same_as<bool> auto value) : value_(bool{value}) {}
  Json(JsonInteger auto value) : value_(Number{std::to_string(value)}) {}
  /// The shortest token that reads back as the same double. A NaN or an infinity stops the process.
  Json(std::same_as<double> auto value) : value_(token_of(value)) {}
  Json(std::string value) : value_(std::move(value)) {}
  Json(std::string_view value) : value_(std::string(value)) {}
  Json(const char* value) : value_(std::string(value)) {}
  Json(Array value) : value_(std::move(value)) {}
  Json(Object value) : value_(std::move(value)) {}

  /// A number with exactly this token.
  /// Fails: `invalid_argument` if it is not a JSON number.
  [[nodiscard]] static Result<Json> number(std::string token);

  [[nodiscard]] Kind kind() const { return static_cast<Kind>(value_.index()); }
  [[nodiscard]] bool is_null() const { return kind() == Kind::null; }
  [[nodiscard]] bool is_bool() const { return kind() == Kind::boolean; }
  [[nodiscard]] bool is_number() const { return kind() == Kind::number; }
  [[nodiscard]] bool is_string() const { return kind() == Kind::string; }
  [[nodiscard]] bool is_array() const { return kind() == Kind::array; }
  [[nodiscard]] bool is_object() const { return kind() == Kind::object; }

  // Each of these gives nothing when the value is of another kind.
  [[nodiscard]] std::optional<bool> as_bool() const;
  /// Nothing also for a token with a fraction or an exponent, or out of range: never rounds.
  [[nodiscard]] std::optional<std::int64_t> as_int64() const;
  [[nodiscard]] std::optional<std::uint64_t> as_uint64() const;
  /// The nearest double; nothing also for what no double holds (1e400). 1e-400 is 0.
  [[nodiscard]] std::optional<double> as_double() const;
  [[nodiscard]] const std::string* number_token() const;
  [[nodiscard]] const std::string* as_string() const { return std::get_if<std::string>(&value_); }
  [[nodiscard]] const Array* as_array() const { return std::get_if<Array>(&value_); }
  [[nodiscard]] Array* as_array() { return std::get_if<Array>(&value_); }
  [[nodiscard]] const Object* as_object() const { return std::get_if<Object>(&value_); }
  [[nodiscard]] Object* as_object() { return std::get_if<Object>(&value_); }

  /// The member of that key, the last one if there are several; null if there is none or this is
  /// not an object. Looks at every member: for large objects and many keys, build an index.
  [[nodiscard]] const Json* find(std::string_view key) const;

  /// The member of that key, as a T, numbers as by as_int64, as_uint64 and as_double: for a tool's
  /// arguments, `call.args.get<std::string>("path")`.
  /// Fails: `invalid_argument`, about the key: it is missing, null, of another kind, or a number
  /// that T cannot hold; or this is not an object.
  template <JsonReadable T>
  [[nodiscard]] Result<T> get(std::string_view key) const;

  /// Replaces the member that find() sees, in place, or appends one. A null becomes an object
  /// first; any other kind stops the process.
  void set(std::string_view key, Json value);

  /// Exactly equal: same kinds, tokens, strings, and order of members. 1 is not 1.0.
  bool operator==(const Json& other) const;

  /// Compact, on one line, members in their order, numbers as their tokens. Bytes in a string that
  /// are not UTF-8 are written as U+FFFD, so that the text is always JSON.
  [[nodiscard]] std::string text() const;

 private:
  friend class JsonBuilder;

  struct Number {
    std::string token;
    bool operator==(const Number&) const = default;
  };

  static Number token_of(double value);

  // In the order of Kind.
  std::variant<std::nullptr_t, bool, Number, std::string, Array, Object> value_;
};

/// Reads one value: strict RFC 8259, valid UTF-8, no byte order mark, nested at most json_depth_max
/// deep.
/// Fails: `invalid_argument`, whose message has the byte offset and what was expected there.
[[nodiscard]] Result<Json> parse_json(std::string_view text);

/// Whether parse_json would read it. Builds nothing and is fast: every body written passes it.
[[nodiscard]] bool is_json(std::string_view text);

/// Text that is JSON, never rewritten: white space, escapes and all. A value type.
class RawJson {
 public:
  /// `null`.
  RawJson() = default;

  /// Fails: `invalid_argument`, as parse_json does.
  [[nodiscard]] static Result<RawJson> from_text(std::string text);
  [[nodiscard]] static RawJson from_value(const Json& value);

  /// Exactly what was given.
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] Json value() const;

  bool operator==(const RawJson&) const = default;

 private:
  explicit RawJson(std::string text) : text_(std::move(text)) {}

  std::string text_ = "null";
};

}  // namespace perdure
