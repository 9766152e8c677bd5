// Members are few: each is looked for among all of them.

#include "runtime/api/fields.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "core/api/json_text.hpp"
#include "core/api/raw_json.hpp"
#include "core/api/text.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/state.hpp"

namespace perdure::values {
namespace {

// Written from version 2 on; without it a value is of version 1.
constexpr std::string_view version_key = "v";
constexpr std::int64_t version_known = 1;
constexpr std::string_view base64_suffix = "_base64";
constexpr std::string_view text_suffix = "_text";
// No value of ours puts more around a text than this.
constexpr std::size_t levels_around = 8;

// For text that is JSON.
std::size_t depth_of(std::string_view json) {
  std::size_t depth = 0;
  std::size_t deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (c == '"') in_string = !in_string;
    if (in_string) {
      if (c == '\\') ++i;
    } else if (c == '{' || c == '[') {
      deepest = std::max(deepest, ++depth);
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return deepest;
}

// Of a JSON value. Empty also for a fraction, an exponent, and what does not fit.
template <class Integer>
std::optional<Integer> integer(std::string_view raw) {
  Integer number = 0;
  const auto [end, error] = std::from_chars(raw.data(), raw.data() + raw.size(), number);
  if (error != std::errc{} || end != raw.data() + raw.size()) return std::nullopt;
  return number;
}

// JSON that is found again without a byte more or less: a reader takes the space around a
// value for its own.
bool is_slice(std::string_view text) {
  constexpr std::string_view space = " \t\r\n";
  return is_json(text) && !space.contains(text.front()) && !space.contains(text.back());
}

}  // namespace

void Writer::operator()(std::string_view key, const std::string& bytes) {
  object_.add(key, Json(bytes));
  if (fits_json(bytes)) return;
  object_.add(std::string(key) + std::string(base64_suffix), Json(to_base64(bytes)));
}

void Writer::operator()(std::string_view key, const Digest& digest) { text(key, to_hex(digest)); }

void Writer::operator()(std::string_view key, Timestamp time) { text(key, to_iso8601(time)); }

void Writer::operator()(std::string_view key, const std::vector<std::string>& texts) {
  object_.add(key, Json(Json::Array(texts.begin(), texts.end())));
}

void Writer::operator()(std::string_view key, const Numbers& numbers) {
  ObjectWriter members;
  for (const auto& [name, number] : numbers) members.add(name, number);
  object_.add_raw(key, members.finish());
}

void Writer::json(std::string_view key, const std::string& text) {
  if (is_slice(text) && depth_of(text) + levels_around <= json_depth_max) {
    object_.add_raw(key, text);
  } else {
    (*this)(std::string(key) + std::string(text_suffix), text);
  }
}

void Writer::unknown(const Unknown& members) {
  for (const auto& [key, json] : members) object_.add_raw(key, json.text());
}

Reader::Reader(std::string_view text, std::string_view what) : what_(what), parts_(&own_) {
  auto parts = read_parts(text);
  if (!parts) {
    own_.list.resize(1);
    fail_with({ErrorCode::invalid_argument,
               fmt::format("not a {}: {}", what_, parts.error().message),
               {}});
    return;
  }
  own_ = *std::move(parts);
  look_at_members();
}

Reader::Reader(Reader& outer, std::size_t part, std::string_view what)
    : what_(what), parts_(outer.parts_), self_(part) {
  if (!whole().starts_with('{')) {
    fail_with({ErrorCode::invalid_argument, fmt::format("not a {}: not a JSON object", what_), {}});
    return;
  }
  look_at_members();
}

void Reader::look_at_members() {
  for (std::size_t i = self_ + 1; i < parts_->list[self_].end; i = parts_->list[i].end) {
    const std::string_view key = parts_->list[i].key;
    has_exact_ = has_exact_ || key.ends_with(base64_suffix) || key.ends_with(text_suffix);
  }
  std::int64_t version = version_known;
  (*this)(version_key, version);
  if (version > version_known) {
    fail_with({ErrorCode::unsupported,
               fmt::format("this {} is of version {}; this build knows {}. Upgrade it.", what_,
                           version, version_known),
               {}});
  }
}

std::string_view Reader::whole() const { return parts_->list[self_].value; }

const RawPart* Reader::find(std::string_view key) const {
  const RawPart* found = nullptr;
  for (std::size_t i = self_ + 1; i < parts_->list[self_].end; i = parts_->list[i].end) {
    const RawPart& part = parts_->list[i];
    if (!part.is_taken && part.key == key) found = &part;
  }
  return found;
}

bool Reader::has(std::string_view key) const { return find(key) != nullptr; }

void Reader::require_json(std::string_view key) {
  expect(has(key) || has(std::string(key) + std::string(text_suffix)), key, "to be there");
}

// Of several members of one key the last counts, as for Json::find.
std::optional<std::size_t> Reader::take_part(std::string_view key) {
  std::optional<std::size_t> found;
  if (failed_) return found;
  for (std::size_t i = self_ + 1; i < parts_->list[self_].end; i = parts_->list[i].end) {
    RawPart& part = parts_->list[i];
    if (part.is_taken || part.key != key) continue;
    part.is_taken = true;
    found = i;
  }
  return found;
}

std::optional<std::string_view> Reader::take(std::string_view key) {
  const auto part = take_part(key);
  if (!part) return std::nullopt;
  return parts_->list[*part].value;
}

// An array that is not empty has parts if its first element is an object.
std::vector<std::size_t> Reader::take_objects(std::string_view key) {
  std::vector<std::size_t> elements;
  const auto array = take_part(key);
  if (!array) return elements;
  const RawPart& part = parts_->list[*array];
  for (std::size_t i = *array + 1; i < part.end; i = parts_->list[i].end) elements.push_back(i);
  const bool is_array = part.value.starts_with('[');
  const bool is_read = !elements.empty() || (is_array && split_array(part.value)->empty());
  expect(is_array && is_read, key, "an array of objects");
  return elements;
}

void Reader::expect(bool fits, std::string_view key, std::string_view expected) {
  if (fits || failed_) return;
  fail_with({ErrorCode::invalid_argument,
             fmt::format("not a {}: \"{}\": expected {}", what_, key, expected),
             {}});
}

void Reader::fail_with(Error error) {
  if (!failed_) failed_ = std::move(error);
}

void Reader::text(std::string_view key, std::string& out) {
  const auto raw = take(key);
  if (!raw) return;
  if (raw->front() != '"') return expect(false, key, "a string");
  if (!raw->contains('\\')) {
    out = raw->substr(1, raw->size() - 2);  // Nearly all of a log is such strings.
  } else {
    out = *parse_json(*raw)->as_string();
  }
}

void Reader::operator()(std::string_view key, std::string& out) {
  text(key, out);
  if (!has_exact_) return;
  const std::string exact_key = std::string(key) + std::string(base64_suffix);
  if (!has(exact_key)) return;
  std::string exact;
  text(exact_key, exact);
  if (failed_) return;
  auto bytes = from_base64(exact);
  if (!bytes) return expect(false, exact_key, "base64");
  out = *std::move(bytes);
}

void Reader::operator()(std::string_view key, std::optional<std::string>& out) {
  if (!has(key)) return;
  if (find(key)->value == "null") {
    take(key);
  } else {
    (*this)(key, out.emplace());
  }
}

void Reader::operator()(std::string_view key, bool& out) {
  const auto raw = take(key);
  if (!raw) return;
  expect(*raw == "true" || *raw == "false", key, "true or false");
  out = *raw == "true";
}

template <class Integer>
void Reader::read_integer(std::string_view key, Integer& out, std::string_view expected) {
  const auto raw = take(key);
  if (!raw) return;
  const auto number = integer<Integer>(*raw);
  expect(number.has_value(), key, expected);
  out = number.value_or(out);
}

void Reader::operator()(std::string_view key, std::int64_t& out) {
  read_integer(key, out, "an integer");
}

void Reader::operator()(std::string_view key, std::uint64_t& out) {
  read_integer(key, out, "an integer that is not below zero");
}

void Reader::operator()(std::string_view key, Digest& out) {
  if (!has(key)) return;
  std::string digits;
  text(key, digits);
  const auto digest = digest_from_hex(digits);
  if (!digest) return expect(false, key, "64 hexadecimal digits");
  out = *digest;
}

void Reader::operator()(std::string_view key, Timestamp& out) {
  if (!has(key)) return;
  std::string written;
  text(key, written);
  const auto time = timestamp_from_iso8601(written);
  if (!time) return expect(false, key, "a time such as 2026-11-15T16:13:55Z");
  out = *time;
}

void Reader::operator()(std::string_view key, std::vector<std::string>& out) {
  constexpr std::string_view expected = "an array of strings";
  const auto raw = take(key);
  if (!raw) return;
  const auto elements = split_array(*raw);
  if (!elements) return expect(false, key, expected);
  for (const std::string_view element : *elements) {
    const auto json = parse_json(element);
    if (json->as_string() == nullptr) return expect(false, key, expected);
    out.push_back(*json->as_string());
  }
}

void Reader::operator()(std::string_view key, Numbers& out) {
  const auto raw = take(key);
  if (!raw) return;
  const auto members = split_object(*raw);
  if (!members) return expect(false, key, "an object");
  for (const RawMember& member : *members) {
    const auto number = integer<std::int64_t>(member.value);
    if (!number) return expect(false, member.key, "an integer");
    out.insert_or_assign(member.key, *number);
  }
}

void Reader::raw(std::string_view key, RawJson& out) {
  if (const auto found = take(key)) out = RawJson::from_text(std::string(*found)).value();
}

void Reader::json(std::string_view key, std::string& out) {
  if (const auto found = take(key)) out = *found;
  if (has_exact_) (*this)(std::string(key) + std::string(text_suffix), out);
}

void Reader::json(std::string_view key, std::optional<std::string>& out) {
  if (has(key) || has(std::string(key) + std::string(text_suffix))) json(key, out.emplace());
}

void Reader::operator()(std::string_view key, RawJson& out) {
  std::string text = out.text();
  json(key, text);
  if (failed_) return;
  auto value = RawJson::from_text(std::move(text));
  if (!value) return expect(false, key, "JSON");
  out = *std::move(value);
}

Result<Unknown> Reader::finish() {
  if (failed_) return std::unexpected(*std::move(failed_));
  Unknown unknown;
  for (std::size_t i = self_ + 1; i < parts_->list[self_].end; i = parts_->list[i].end) {
    const RawPart& part = parts_->list[i];
    if (part.is_taken) continue;
    unknown.emplace_back(part.key, RawJson::from_text(std::string(part.value)).value());
  }
  return unknown;
}

}  // namespace perdure::values
