// What holds for the JSON of every value, for the tests of each: it comes back as it was,
// with any bytes and with unknown members; a newer version is not guessed at; what
// is cut off or of another type is refused or read, and never more than that.

#pragma once

#include <cstddef>
#include <rapidcheck.h>
#include <string>
#include <string_view>
#include <utility>

#include "core/api/raw_json.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/state.hpp"
#include "runtime/api/records.hpp"

namespace perdure::values {

/// Members of names that no value has, some of them in odd spellings.
inline rc::Gen<Unknown> any_unknown() {
  const auto text =
      rc::gen::map(rc::gen::element<std::string>("null", "[ 1.50, {} ]", "\"\\u0041\"", "1e400",
                                                 "{ \"v\" : 9 }"),
                   [](std::string json) { return RawJson::from_text(std::move(json)).value(); });
  const auto key = rc::gen::element<std::string>("x-a", "x-b", "", "x \xC3\xA4", "x-a");
  return rc::gen::resize(4, rc::gen::container<Unknown>(rc::gen::pair(key, text)));
}

/// An object's text with one more member.
inline std::string with_member(const std::string& object, std::string_view member) {
  const std::string_view rest = std::string_view(object).substr(1);
  return "{" + std::string(member) + (rest == "}" ? "" : ",") + std::string(rest);
}

/// The object with each of its members in turn replaced by `value`.
template <class Visit>
void with_each_replaced(const std::string& object, std::string_view value, Visit visit) {
  const auto members = split_object(object).value();
  for (std::size_t replaced = 0; replaced < members.size(); ++replaced) {
    ObjectWriter writer;
    for (std::size_t i = 0; i < members.size(); ++i) {
      writer.add_raw(members[i].key, i == replaced ? value : members[i].value);
    }
    visit(writer.finish());
  }
}

template <class Value, class Read>
void check_codec(const Value& value, Read read) {
  const std::string text = to_json(value);
  const Result<Value> back = read(text);
  RC_ASSERT(back.has_value());
  RC_ASSERT(*back == value);
  RC_ASSERT(to_json(*back) == text);

  const Result<Value> newer = read(with_member(text, "\"v\":2"));
  RC_ASSERT(!newer.has_value());
  RC_ASSERT(newer.error().code == ErrorCode::unsupported);

  const auto cut = *rc::gen::inRange<std::size_t>(0, text.size());
  const Result<Value> half = read(std::string_view(text).substr(0, cut));
  RC_ASSERT(!half.has_value());
  RC_ASSERT(half.error().code == ErrorCode::invalid_argument);
  RC_ASSERT(!half.error().message.empty());

  for (const std::string_view odd : {"null", "-1", "1e99", "\"\"", "[1]", "{}", "[{}]", "true"}) {
    with_each_replaced(text, odd, [&](const std::string& changed) {
      const Result<Value> other = read(changed);
      if (other) {
        const Result<Value> again = read(to_json(*other));
        RC_ASSERT(again.has_value());
        RC_ASSERT(*again == *other);
      } else {
        RC_ASSERT(other.error().code == ErrorCode::invalid_argument);
      }
    });
  }
}

}  // namespace perdure::values
