// Reading an object's members into a value's fields.
//
// The first thing that does not fit is remembered, and what follows does nothing, so
// that a reader is a list of fields and asks once, at its end. Members that nobody
// asked for are handed out: a value keeps what it does not know.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/raw_json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/message.hpp"

namespace perdure::values {

class Fields {
 public:
  /// Both must outlive this; `what` names the value in errors: "message".
  Fields(std::string_view text, std::string_view what);

  // Each takes the member of that key. Where the caller gives a target that may be left
  // alone, a missing member is not an error.
  void take(std::string_view key, std::string& out);
  void take(std::string_view key, bool& out);
  void take(std::string_view key, std::int64_t& out);
  void take(std::string_view key, std::uint64_t& out);
  void take(std::string_view key, Digest& out);  ///< Hexadecimal digits.
  void take(std::string_view key, RawJson& out);
  void take(std::string_view key, Timestamp& out);
  void take(std::string_view key, std::optional<std::string>& out);
  void take(std::string_view key, std::optional<std::int64_t>& out);
  /// What add_bytes wrote.
  void take_bytes(std::string_view key, std::string& out);
  void take_bytes(std::string_view key, std::optional<std::string>& out);
  /// What add_json wrote.
  void take_json(std::string_view key, std::string& out);
  void take_json(std::string_view key, RawJson& out);
  /// A word of a closed set.
  template <class Word>
  void take_word(std::string_view key, Word& out, std::optional<Word> (*from)(std::string_view)) {
    if (!has(key)) return;
    std::string text;
    take(key, text);
    if (failed_) return;
    if (const auto word = from(text)) {
      out = *word;
    } else {
      refuse(key, "a known word");
    }
  }
  /// The member's text, whatever it is.
  void take_part(std::string_view key, const std::function<Result<void>(std::string_view)>& read);
  /// The elements of an array; `read` is called with each.
  void take_each(std::string_view key, const std::function<Result<void>(std::string_view)>& read);
  /// The members of an object.
  void take_members(std::string_view key,
                    const std::function<Result<void>(const RawMember&)>& read);

  /// The member must be there.
  void require(std::string_view key);
  [[nodiscard]] bool has(std::string_view key) const;
  /// The value does not fit for a reason of its own; remembered as the rest is.
  void refuse(std::string_view key, std::string_view expected);
  void fail_with(Error error);

  /// What nobody took. Fails: what was remembered.
  [[nodiscard]] Result<Unknown> finish();

 private:
  std::optional<std::string_view> take_raw(std::string_view key);

  std::string_view what_;
  std::vector<RawMember> members_;
  std::uint64_t sizes_ = 0;  ///< A bit for the size of each key: most that are missing show here.
  bool has_exact_ = false;   ///< Some key ends as those of add_bytes or add_json do.
  std::optional<Error> failed_;
};

/// Reads a value whose type has a member `unknown`: `read` takes its fields.
template <class Value, class Read>
Result<Value> read_value(std::string_view text, std::string_view what, Read read) {
  Fields fields(text, what);
  Value value;
  read(fields, value);
  auto unknown = fields.finish();
  if (!unknown) return forward(unknown);
  value.unknown = *std::move(unknown);
  return value;
}

/// An element's own refusal, inside take_each.
template <class Value>
Result<void> keep(Result<Value> read, std::vector<Value>& in) {
  if (!read) return forward(read);
  in.push_back(*std::move(read));
  return {};
}

/// `[…]` of what `write` makes of each element.
template <class Range, class Write>
std::string array_of(const Range& range, Write write) {
  std::string text = "[";
  for (const auto& element : range) {
    if (text.size() > 1) text += ',';
    text += write(element);
  }
  return text + "]";
}

/// Any bytes. What no JSON string holds goes beside itself as base64: the readable form is
/// for people, the other one is the truth.
void add_bytes(ObjectWriter& writer, std::string_view key, const std::string& bytes);
void add_bytes(ObjectWriter& writer, std::string_view key, const std::optional<std::string>& bytes);
/// Text that is perhaps JSON: as it is where that comes back byte for byte, else as a string. JSON
/// with space around it, or that nests too deep to put anything around it, is such a text.
void add_json(ObjectWriter& writer, std::string_view key, const std::string& text);
void add_unknown(ObjectWriter& writer, const Unknown& unknown);

}  // namespace perdure::values
