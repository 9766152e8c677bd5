// Members are few: each is looked for among all of them. One that was taken stays where it is, without
// its value: no value is empty text.

#include "runtime/api/fields.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <fmt/format.h>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "core/api/text.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/raw_json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/message.hpp"

namespace perdure::values {
namespace {

// Written from version 2 on; without it a value is of version 1.
constexpr std::string_view version_key = "v";
constexpr std::int64_t version_known = 1;
constexpr std::string_view base64_suffix = "_base64";
constexpr std::string_view text_suffix = "_text";
// No value of ours puts more around a text than this.
constexpr std::size_t levels_around = 8;

// All long keys share one.
std::uint64_t size_bit(std::string_view key) {
  return std::uint64_t{1} << std::min<std::size_t>(key.size(), 63);
}

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

// An integer of digits alone; any other spelling is left to the parser.
std::optional<std::int64_t> plain_integer(std::string_view raw) {
  std::int64_t number = 0;
  const char* const end = raw.data() + raw.size();
  const auto [rest, error] = std::from_chars(raw.data(), end, number);
  if (raw.front() == '-' || error != std::errc() || rest != end) return std::nullopt;
  return number;
}

// JSON that is found again without a byte more or less: a reader takes the space around a
// value for its own.
bool is_slice(std::string_view text) {
  constexpr std::string_view space = " \t\r\n";
  return is_json(text) && !space.contains(text.front()) && !space.contains(text.back());
}

}  // namespace

Fields::Fields(std::string_view text, std::string_view what) : what_(what) {
  auto members = split_object(text);
  if (!members) {
    fail_with({ErrorCode::invalid_argument,
               fmt::format("not a {}: {}", what_, members.error().message),
               {}});
    return;
  }
  members_ = *std::move(members);
  for (const RawMember& member : members_) {
    const std::string_view key = member.key;
    sizes_ |= size_bit(key);
    has_exact_ = has_exact_ || key.ends_with(base64_suffix) || key.ends_with(text_suffix);
  }
  std::int64_t version = version_known;
  take(version_key, version);
  if (version > version_known) {
    fail_with({ErrorCode::unsupported,
               fmt::format("this {} is of version {}; this build knows {}. Upgrade it.", what_,
                           version, version_known),
               {}});
  }
}

bool Fields::has(std::string_view key) const {
  return (sizes_ & size_bit(key)) != 0 &&
         std::ranges::any_of(members_, [&](const RawMember& member) {
           return !member.value.empty() && member.key == key;
         });
}

void Fields::require(std::string_view key) {
  if (!has(key)) refuse(key, "to be there");
}

// Of several members of one key the last counts, as for Json::find.
std::optional<std::string_view> Fields::take_raw(std::string_view key) {
  std::optional<std::string_view> found;
  if (failed_ || (sizes_ & size_bit(key)) == 0) return found;
  for (RawMember& member : members_) {
    if (member.value.empty() || member.key != key) continue;
    found = std::exchange(member.value, {});
  }
  return found;
}

void Fields::refuse(std::string_view key, std::string_view expected) {
  fail_with({ErrorCode::invalid_argument,
             fmt::format("not a {}: \"{}\": expected {}", what_, key, expected),
             {}});
}

void Fields::fail_with(Error error) {
  if (!failed_) failed_ = std::move(error);
}

void Fields::take(std::string_view key, std::string& out) {
  const auto raw = take_raw(key);
  if (!raw) return;
  if (raw->front() != '"') return refuse(key, "a string");
  if (!raw->contains('\\')) {
    out = raw->substr(1, raw->size() - 2);  // Nearly all of a log is such strings.
  } else {
    out = *parse_json(*raw)->as_string();
  }
}

void Fields::take(std::string_view key, bool& out) {
  const auto raw = take_raw(key);
  if (!raw) return;
  if (*raw != "true" && *raw != "false") return refuse(key, "true or false");
  out = *raw == "true";
}

void Fields::take(std::string_view key, std::int64_t& out) {
  const auto raw = take_raw(key);
  if (!raw) return;
  auto number = plain_integer(*raw);
  if (!number) number = parse_json(*raw)->as_int64();
  if (!number) return refuse(key, "an integer");
  out = *number;
}

void Fields::take(std::string_view key, std::uint64_t& out) {
  const auto raw = take_raw(key);
  if (!raw) return;
  const auto plain = plain_integer(*raw);
  const auto number =
      plain ? std::optional(static_cast<std::uint64_t>(*plain)) : parse_json(*raw)->as_uint64();
  if (!number) return refuse(key, "an integer that is not below zero");
  out = *number;
}

void Fields::take(std::string_view key, Digest& out) {
  if (!has(key)) return;
  std::string text;
  take(key, text);
  if (failed_) return;
  const auto digest = digest_from_hex(text);
  if (!digest) return refuse(key, "64 hexadecimal digits");
  out = *digest;
}

void Fields::take(std::string_view key, RawJson& out) {
  if (const auto raw = take_raw(key)) out = RawJson::from_text(std::string(*raw)).value();
}

void Fields::take(std::string_view key, Timestamp& out) {
  if (!has(key)) return;
  std::string text;
  take(key, text);
  if (failed_) return;
  const auto time = timestamp_from_iso8601(text);
  if (!time) return refuse(key, "a time such as 2026-11-15T16:13:55Z");
  out = *time;
}

void Fields::take(std::string_view key, std::optional<std::string>& out) {
  if (!has(key)) return;
  std::string text;
  take(key, text);
  out = std::move(text);
}

void Fields::take(std::string_view key, std::optional<std::int64_t>& out) {
  if (!has(key)) return;
  std::int64_t number = 0;
  take(key, number);
  out = number;
}

void Fields::take_bytes(std::string_view key, std::string& out) {
  take(key, out);
  if (!has_exact_) return;
  const std::string exact_key = std::string(key) + std::string(base64_suffix);
  if (!has(exact_key)) return;
  std::string exact;
  take(exact_key, exact);
  if (failed_) return;
  auto bytes = from_base64(exact);
  if (!bytes) return refuse(exact_key, "base64");
  out = *std::move(bytes);
}

void Fields::take_bytes(std::string_view key, std::optional<std::string>& out) {
  if (!has(key)) return;
  // Others write what is missing as null.
  const auto member = std::ranges::find(members_, key, &RawMember::key);
  if (member->value == "null") {
    take_raw(key);
  } else {
    take_bytes(key, out.emplace());
  }
}

void Fields::take_json(std::string_view key, std::string& out) {
  if (const auto raw = take_raw(key)) out = *raw;
  if (has_exact_) take_bytes(std::string(key) + std::string(text_suffix), out);
}

void Fields::take_json(std::string_view key, RawJson& out) {
  std::string text = out.text();
  take_json(key, text);
  if (failed_) return;
  auto json = RawJson::from_text(std::move(text));
  if (!json) return refuse(key, "JSON");
  out = *std::move(json);
}

void Fields::take_part(std::string_view key,
                       const std::function<Result<void>(std::string_view)>& read) {
  const auto raw = take_raw(key);
  if (!raw) return;
  if (auto done = read(*raw); !done) fail_with(std::move(done).error());
}

void Fields::take_each(std::string_view key,
                       const std::function<Result<void>(std::string_view)>& read) {
  const auto raw = take_raw(key);
  if (!raw) return;
  const auto elements = split_array(*raw);
  if (!elements) return refuse(key, "an array");
  for (const std::string_view element : *elements) {
    auto done = read(element);
    if (!done) return fail_with(std::move(done).error());
  }
}

void Fields::take_members(std::string_view key,
                          const std::function<Result<void>(const RawMember&)>& read) {
  const auto raw = take_raw(key);
  if (!raw) return;
  const auto members = split_object(*raw);
  if (!members) return refuse(key, "an object");
  for (const RawMember& member : *members) {
    auto done = read(member);
    if (!done) return fail_with(std::move(done).error());
  }
}

Result<Unknown> Fields::finish() {
  if (failed_) return std::unexpected(*std::move(failed_));
  Unknown unknown;
  for (const RawMember& member : members_) {
    if (member.value.empty()) continue;
    unknown.emplace_back(member.key, RawJson::from_text(std::string(member.value)).value());
  }
  return unknown;
}

void add_bytes(ObjectWriter& writer, std::string_view key, const std::string& bytes) {
  writer.add(key, Json(bytes));
  if (fits_json(bytes)) return;
  writer.add(std::string(key) + std::string(base64_suffix), Json(to_base64(bytes)));
}

void add_bytes(ObjectWriter& writer, std::string_view key,
               const std::optional<std::string>& bytes) {
  if (bytes) add_bytes(writer, key, *bytes);
}

void add_json(ObjectWriter& writer, std::string_view key, const std::string& text) {
  if (is_slice(text) && depth_of(text) + levels_around <= json_depth_max) {
    writer.add_raw(key, text);
  } else {
    add_bytes(writer, std::string(key) + std::string(text_suffix), text);
  }
}

void add_unknown(ObjectWriter& writer, const Unknown& unknown) {
  for (const auto& [key, json] : unknown) writer.add_raw(key, json.text());
}

}  // namespace perdure::values
