// Members are few: each is looked for among all of them.

#include "values/fields.hpp"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/raw_json.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/message.hpp"

namespace perdure::values {
namespace {

// Written from version 2 on; without it a value is of version 1.
constexpr std::string_view version_key = "v";
constexpr std::int64_t version_known = 1;

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
  return std::ranges::find(members_, key, &RawMember::key) != members_.end();
}

void Fields::require(std::string_view key) {
  if (!has(key)) refuse(key, "to be there");
}

// Of several members of one key the last counts, as for Json::find.
std::optional<std::string_view> Fields::take_raw(std::string_view key) {
  std::optional<std::string_view> found;
  if (failed_) return found;
  std::erase_if(members_, [&](const RawMember& member) {
    if (member.key != key) return false;
    found = member.value;
    return true;
  });
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
  const auto json = parse_json(*raw);
  if (!json->is_string()) return refuse(key, "a string");
  out = *json->as_string();
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
  const auto number = parse_json(*raw)->as_int64();
  if (!number) return refuse(key, "an integer");
  out = *number;
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

Result<Unknown> Fields::finish() {
  if (failed_) return std::unexpected(*std::move(failed_));
  Unknown unknown;
  for (const RawMember& member : members_) {
    unknown.emplace_back(member.key, RawJson::from_text(std::string(member.value)).value());
  }
  return unknown;
}

void add_unknown(ObjectWriter& writer, const Unknown& unknown) {
  for (const auto& [key, json] : unknown) writer.add_raw(key, json.text());
}

}  // namespace perdure::values
