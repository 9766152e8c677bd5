// One list of fields for each type of value, and the two archives that go through it.
//
// `shape_name` of a value is the name of its type in errors, `fields` its list; both are found by the
// value's namespace:
//
//   constexpr std::string_view shape_name(const Step& /*as*/) { return "step of a plan"; }
//   void fields(auto& archive, Like<Step> auto& step) {
//     archive.require("id");
//     archive("id", step.id);
//   }
//
// A Writer makes members of the fields, in the order of the list. A Reader takes the members in any
// order. It remembers the first thing that does not fit, and what follows does nothing. A missing
// member leaves its field as it is. A value keeps the members that its list does not name, in
// `unknown`. Both archives have the same methods, so that one list serves both; what only one of them
// can do (`require`, `expect`) does nothing in the other.

#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/api/raw_json.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/state.hpp"

namespace perdure::values {

/// A value, const for a Writer.
template <class Value, class Type>
concept Like = std::same_as<std::remove_const_t<Value>, Type>;

template <class Value>
concept Shaped = requires(const Value& value) { shape_name(value); };

using Numbers = std::map<std::string, std::int64_t, std::less<>>;

template <Shaped Value>
std::string write(const Value& value);
template <Shaped Value>
Result<Value> read(std::string_view text, Value value = {});

/// Fields to members of an object.
class Writer {
 public:
  static constexpr bool reads = false;

  /// Any bytes. What no JSON string holds goes beside itself as base64: the readable form is
  /// for people, the other one is the truth.
  void operator()(std::string_view key, const std::string& bytes);
  void operator()(std::string_view key, const Digest& digest);  ///< As hexadecimal digits.
  void operator()(std::string_view key, const RawJson& value) { json(key, value.text()); }
  void operator()(std::string_view key, Timestamp time);
  void operator()(std::string_view key, bool value) { object_.add(key, value); }
  void operator()(std::string_view key, std::int64_t value) { object_.add(key, value); }
  void operator()(std::string_view key, std::uint64_t value) { object_.add(key, value); }
  void operator()(std::string_view key, const std::vector<std::string>& texts);
  void operator()(std::string_view key, const Numbers& numbers);
  template <Shaped Value>
  void operator()(std::string_view key, const Value& part) {
    object_.add_raw(key, write(part));
  }
  template <Shaped Value>
  void operator()(std::string_view key, const std::vector<Value>& parts) {
    std::string text = "[";
    for (const Value& part : parts) {
      if (text.size() > 1) text += ',';
      text += write(part);
    }
    object_.add_raw(key, text + "]");
  }
  /// An absent value is an absent member.
  template <class Value>
  void operator()(std::string_view key, const std::optional<Value>& value) {
    if (value) (*this)(key, *value);
  }
  /// As above, but only a value that is not zero, false or empty is a member.
  template <class Value>
  void sparse(std::string_view key, const Value& value) {
    if (value != Value{}) (*this)(key, value);
  }
  /// A string that is always UTF-8.
  void text(std::string_view key, std::string_view value) { object_.add(key, value); }
  /// Text that is perhaps JSON: as it is where that comes back byte for byte, else as a string. JSON
  /// with space around it, or that nests too deep to put anything around it, is such a text.
  void json(std::string_view key, const std::string& text);
  void json(std::string_view key, const std::optional<std::string>& text) {
    if (text) json(key, *text);
  }
  /// A word of a closed set.
  void word(std::string_view key, auto value, auto /*from*/) { text(key, to_string(value)); }
  void unknown(const Unknown& members);

  void require(auto... /*keys*/) const {}
  void require_json(std::string_view /*key*/) const {}
  void expect(bool /*fits*/, std::string_view /*key*/, std::string_view /*expected*/) const {}

  /// The object.
  [[nodiscard]] std::string finish() { return object_.finish(); }

 private:
  ObjectWriter object_;
};

/// Members of an object to fields.
class Reader {
 public:
  static constexpr bool reads = true;

  /// Both must outlive this; `what` names the value in errors: "message".
  Reader(std::string_view text, std::string_view what);
  /// Of a value inside the one that `outer` reads.
  Reader(Reader& outer, std::size_t part, std::string_view what);
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // Each takes what the Writer makes of such a field.
  void operator()(std::string_view key, std::string& out);
  void operator()(std::string_view key, Digest& out);
  void operator()(std::string_view key, RawJson& out);
  void operator()(std::string_view key, Timestamp& out);
  void operator()(std::string_view key, bool& out);
  void operator()(std::string_view key, std::int64_t& out);
  void operator()(std::string_view key, std::uint64_t& out);
  void operator()(std::string_view key, std::vector<std::string>& out);
  void operator()(std::string_view key, Numbers& out);
  template <Shaped Value>
  void operator()(std::string_view key, Value& out) {
    if (const auto part = take_part(key)) read_part(*part, out);
  }
  template <Shaped Value>
  void operator()(std::string_view key, std::vector<Value>& out) {
    for (const std::size_t element : take_objects(key)) read_part(element, out.emplace_back());
  }
  template <class Value>
  void operator()(std::string_view key, std::optional<Value>& out) {
    if (has(key)) (*this)(key, out.emplace());
  }
  /// Null is absent too: others write it so.
  void operator()(std::string_view key, std::optional<std::string>& out);
  template <class Value>
  void sparse(std::string_view key, Value& out) {
    (*this)(key, out);
  }
  void text(std::string_view key, std::string& out);
  void json(std::string_view key, std::string& out);
  void json(std::string_view key, std::optional<std::string>& out);
  template <class Word>
  void word(std::string_view key, Word& out, std::optional<Word> (*from)(std::string_view)) {
    if (!has(key)) return;
    std::string found;
    text(key, found);
    const auto known = from(found);
    expect(known.has_value(), key, "a known word");
    if (known) out = *known;
  }
  /// The member as it is.
  void raw(std::string_view key, RawJson& out);

  /// The members must be there.
  template <class... Key>
  void require(const Key&... keys) {
    (expect(has(keys), keys, "to be there"), ...);
  }
  /// The member that `json` takes.
  void require_json(std::string_view key);
  /// What was read fits, or the value is refused.
  void expect(bool fits, std::string_view key, std::string_view expected);
  [[nodiscard]] bool has(std::string_view key) const;
  /// The text of the object.
  [[nodiscard]] std::string_view whole() const;

  /// The members that were not taken. Fails: with what was remembered.
  [[nodiscard]] Result<Unknown> finish();

 private:
  template <Shaped Value>
  void read_part(std::size_t part, Value& out);

  template <class Integer>
  void read_integer(std::string_view key, Integer& out, std::string_view expected);

  void look_at_members();
  std::optional<std::string_view> take(std::string_view key);
  std::optional<std::size_t> take_part(std::string_view key);
  std::vector<std::size_t> take_objects(std::string_view key);
  [[nodiscard]] const RawPart* find(std::string_view key) const;
  void fail_with(Error error);

  std::string_view what_;
  RawParts own_;     ///< Empty in a reader of a value inside another one.
  RawParts* parts_;  ///< Of the whole text. A member that was taken has no value.
  std::size_t self_ = 0;
  bool has_exact_ = false;  ///< Some key ends in "_base64" or "_text".
  std::optional<Error> failed_;
};

/// The rest of an object that was started: the fields of the value, and what it does not know.
template <Shaped Value>
std::string write_rest(Writer& writer, const Value& value) {
  fields(writer, value);
  writer.unknown(value.unknown);
  return writer.finish();
}

template <Shaped Value>
Result<void> read_rest(Reader& reader, Value& value) {
  fields(reader, value);
  auto unknown = reader.finish();
  if (!unknown) return forward(unknown);
  value.unknown = *std::move(unknown);
  return {};
}

/// A type that is not one list of fields has functions `write_whole` and `read_whole` instead of
/// `fields`.
template <Shaped Value>
std::string write(const Value& value) {
  if constexpr (requires { write_whole(value); }) {
    return write_whole(value);
  } else {
    Writer writer;
    return write_rest(writer, value);
  }
}

template <Shaped Value>
Result<void> read_from(Reader& reader, Value& value) {
  if constexpr (requires { read_whole(reader, value); }) {
    return read_whole(reader, value);
  } else {
    return read_rest(reader, value);
  }
}

template <Shaped Value>
void Reader::read_part(std::size_t part, Value& out) {
  Reader reader(*this, part, shape_name(out));
  if (auto read = read_from(reader, out); !read) fail_with(std::move(read).error());
}

/// Fields without a member are those of `value`.
/// Fails: `invalid_argument` for text that is not such a value; `unsupported` for a newer version.
template <Shaped Value>
Result<Value> read(std::string_view text, Value value) {
  Reader reader(text, shape_name(value));
  if (auto read = read_from(reader, value); !read) return forward(read);
  return value;
}

/// The word that a table of pairs has for a value.
std::string_view word_of(const auto& words, auto value) {
  const auto found = std::ranges::find(words, value, [](const auto& pair) { return pair.first; });
  return found == words.end() ? std::string_view() : found->second;
}

/// The value that a table of pairs has for a word.
template <class Words>
auto value_of(const Words& words, std::string_view word)
    -> std::optional<typename Words::value_type::first_type> {
  const auto found = std::ranges::find(words, word, [](const auto& pair) { return pair.second; });
  if (found == words.end()) return std::nullopt;
  return found->first;
}

}  // namespace perdure::values
