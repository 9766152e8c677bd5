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
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/raw_json.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/message.hpp"

namespace perdure::values {

class Fields {
 public:
  /// `text` must outlive this; `what` names the value in errors: "message".
  Fields(std::string_view text, std::string_view what);

  // Each takes the member of that key. Where the caller gives a target that may be left
  // alone, a missing member is not an error.
  void take(std::string_view key, std::string& out);
  void take(std::string_view key, bool& out);
  void take(std::string_view key, std::int64_t& out);
  void take(std::string_view key, RawJson& out);
  void take(std::string_view key, Timestamp& out);
  void take(std::string_view key, std::optional<std::string>& out);
  void take(std::string_view key, std::optional<std::int64_t>& out);
  /// A word of a closed set.
  template <class Word>
  void take_word(std::string_view key, Word& out, std::optional<Word> (*from)(std::string_view)) {
    std::string text;
    take(key, text);
    if (failed_ || text.empty()) return;
    if (const auto word = from(text)) {
      out = *word;
    } else {
      refuse(key, "a known word");
    }
  }
  /// The elements of an array; `read` is called with each.
  void take_each(std::string_view key, const std::function<Result<void>(std::string_view)>& read);

  /// The member must be there.
  void require(std::string_view key);
  [[nodiscard]] bool has(std::string_view key) const;

  /// What nobody took. Fails: what was remembered.
  [[nodiscard]] Result<Unknown> finish();

 private:
  std::optional<std::string_view> take_raw(std::string_view key);
  void refuse(std::string_view key, std::string_view expected);
  void fail_with(Error error);

  std::string what_;
  std::vector<RawMember> members_;
  std::optional<Error> failed_;
};

void add_unknown(ObjectWriter& writer, const Unknown& unknown);

}  // namespace perdure::values
