// Messages one after the other, their digests chained, so that cutting the end off needs no second
// look at the start.

#include "models/dialect.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/api/json_text.hpp"
#include "core/api/raw_json.hpp"
#include "core/api/sha256.hpp"
#include "core/api/text.hpp"
#include "core/api/wording.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/runtime/state.hpp"
#include "runtime/api/records.hpp"
#include "store/api/limits.hpp"

namespace perdure {
namespace {

Digest chained(const Digest& before, std::string_view text) {
  thread_local Sha256 hash;
  hash.update({reinterpret_cast<const char*>(before.data()), before.size()});
  hash.update(text);
  return hash.finish();
}

}  // namespace

void RequestBody::add(const Message& message) {
  std::string text = format_.message(message, false);
  if (!text.empty()) text.insert(0, 1, ',');
  bytes_written_ += text.size();
  const Digest before = chain();
  pieces_.push_back({.text = std::move(text), .chain = before});
  Piece& piece = pieces_.back();
  if (!piece.text.empty()) piece.chain = chained(before, piece.text);
}

Result<void> RequestBody::write_head(const ModelRequest& request) {
  if (setup_ == request.setup && is_capped_ == request.is_capped) return {};
  auto head = format_.head(request.setup);
  if (!head) return forward(head);
  head_ = *std::move(head);
  const std::string cap = request.is_capped ? format_.cap(request.setup) : std::string();
  if (!cap.empty()) head_.insert(1, cap + ",");
  bytes_written_ += head_.size();
  setup_ = request.setup;
  is_capped_ = request.is_capped;
  return {};
}

Result<void> RequestBody::update(const ModelRequest& request) {
  auto written = write_head(request);
  if (written && request.kept > pieces_.size()) {
    written = fail(ErrorCode::invalid_argument, "more messages are kept than were prepared");
  }
  if (!written) {
    setup_.reset();
    head_.clear();
    pieces_.clear();
    last_.clear();
    return written;
  }
  // The mark of a message that was the last one goes with its form as the last.
  if (request.kept < pieces_.size() || !request.messages.empty()) last_.clear();
  pieces_.resize(request.kept);
  for (const Message& message : request.messages) add(message);
  if (!request.messages.empty()) {
    last_ = format_.message(request.messages.back(), true);
    if (!last_.empty()) last_.insert(0, 1, ',');
    bytes_written_ += last_.size();
  }
  digest_ = chained(chain(), head_);
  return {};
}

std::size_t RequestBody::bytes() const {
  std::size_t bytes = 0;
  for (const std::string_view part : parts()) bytes += part.size();
  return bytes;
}

std::vector<std::string_view> RequestBody::parts() const {
  std::vector<std::string_view> parts{head_};
  const auto add = [&](std::string_view text) {
    // The first comma is not sent where nothing is before it.
    if (parts.size() == 1 && head_.ends_with('[') && !text.empty()) text.remove_prefix(1);
    if (!text.empty()) parts.push_back(text);
  };
  const std::size_t whole = pieces_.size() - (last_.empty() ? 0 : 1);
  for (std::size_t i = 0; i < whole; ++i) add(pieces_[i].text);
  add(last_);
  parts.push_back(body_tail);
  return parts;
}

}  // namespace perdure

// JSON in, JSON out, byte for byte where it matters.
namespace perdure::wire {
namespace {

constexpr std::size_t name_chars_max = 64;
constexpr std::size_t error_chars_max = 500;

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

bool fits(std::string_view text) {
  return !text.empty() && text.size() <= name_chars_max && std::ranges::all_of(text, is_plain);
}

// A surrogate as core's Json holds it: three bytes that are not UTF-8. `second` is the range of its
// second byte.
bool is_surrogate(std::string_view three, unsigned char second_min, unsigned char second_max) {
  if (three.size() != 3 || three[0] != '\xED') return false;
  const auto second = static_cast<unsigned char>(three[1]);
  return second >= second_min && second <= second_max;
}

// The ten bits that a surrogate carries.
unsigned surrogate_bits(std::string_view three) {
  return (static_cast<unsigned char>(three[1]) & 0x0FU) << 6U |
         (static_cast<unsigned char>(three[2]) & 0x3FU);
}

void append_character(std::string& text, unsigned code) {
  for (const unsigned shift : {18U, 12U, 6U, 0U}) {
    const unsigned lead = shift == 18U ? 0xF0U : 0x80U;
    text.push_back(static_cast<char>(lead | (code >> shift & 0x3FU)));
  }
}

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

std::optional<std::string> words_of(const Json& body) {
  const Json* error = body.find("error");
  if (error == nullptr) error = &body;
  if (const auto* const text = error->as_string()) return *text;
  const std::string message = text_in(*error, "message");
  if (message.empty()) return std::nullopt;
  std::string type = text_in(*error, "type");
  if (type.empty()) type = text_in(*error, "code");
  return type.empty() ? message : type + ": " + message;
}

}  // namespace

std::string quoted(std::string_view text) {
  std::string json;
  json.reserve(text.size() + 2);
  append_json_string(json, text);
  return json;
}

std::string tool_name(std::string_view name) {
  std::string plain(name.substr(0, name_chars_max));
  std::ranges::replace_if(plain, [](char c) { return !is_plain(c); }, '_');
  return plain.empty() ? "unnamed" : plain;
}

std::string call_id(std::string_view id) {
  if (fits(id)) return std::string(id);
  return "call_" + to_hex(sha256(id)).substr(0, 32);
}

std::string call_args(std::string_view args) {
  if (!has_too_many_values(args) && split_object(args)) return std::string(args);
  if (const auto read = parse_args(args); read && read->is_object()) return read->text();
  ObjectWriter writer;
  writer.add("malformed_arguments", args);
  return writer.finish();
}

Result<std::string> parameters(const Setup& setup, std::span<const std::string_view> reserved) {
  const auto members = split_object(setup.parameters.text());
  if (!members) return fail(ErrorCode::invalid_argument, "the setup's parameters are no object");
  std::string text;
  for (const RawMember& member : *members) {
    if (std::ranges::find(reserved, member.key) != reserved.end()) {
      return fail(ErrorCode::invalid_argument,
                  "the setup's parameters may not set \"" + member.key + "\"", member.key);
    }
    if (!text.empty()) text += ',';
    text += wire::quoted(member.key) + ':';
    text += member.value;
  }
  return text;
}

std::optional<std::int64_t> parameter(const Setup& setup, std::string_view key) {
  const Json parameters = setup.parameters.value();
  const Json* const found = parameters.find(key);
  return found == nullptr ? std::nullopt : found->as_int64();
}

void append(std::string& text, std::string_view piece) {
  const std::string_view whole(text);
  if (whole.size() >= 3 && is_surrogate(whole.substr(whole.size() - 3), 0xA0, 0xAF) &&
      is_surrogate(piece.substr(0, 3), 0xB0, 0xBF)) {
    const unsigned high = surrogate_bits(whole.substr(whole.size() - 3));
    const unsigned low = surrogate_bits(piece.substr(0, 3));
    text.resize(text.size() - 3);
    append_character(text, 0x10000U + (high << 10U) + low);
    piece.remove_prefix(3);
  }
  text += piece;
}

std::string_view as_text(std::string_view data, std::string& room) {
  if (is_utf8(data)) return data;
  room.clear();
  while (!data.empty()) {
    const std::string_view character = first_character(data);
    if (!character.empty()) {
      room += character;
      data.remove_prefix(character.size());
      continue;
    }
    room += "\xEF\xBF\xBD";
    do data.remove_prefix(1);
    while (!data.empty() && is_continuation(data.front()));
  }
  return room;
}

std::int64_t number_in(const Json& json, std::string_view key) {
  const Json* const found = json.find(key);
  const auto number = found == nullptr ? std::nullopt : found->as_int64();
  return std::clamp<std::int64_t>(number.value_or(0), 0, tally_max);
}

bool has_count(const Json& json, std::string_view key) {
  const Json* const found = json.find(key);
  const auto number = found == nullptr ? std::nullopt : found->as_int64();
  return number && *number >= 0;
}

std::string_view raw_in(std::string_view object, std::string_view key) {
  const auto members = split_object(object);
  if (!members) return {};
  // Of several the last, as Json::find has it.
  std::string_view value;
  for (const RawMember& member : *members) {
    if (member.key == key) value = member.value;
  }
  return value;
}

std::string vendors_own(const RawJson& metadata, std::string_view vendor) {
  return std::string(raw_in(metadata.text(), vendor));
}

std::string vendors_own(const Unknown& unknown, std::string_view vendor) {
  for (const auto& [key, value] : unknown) {
    if (key == vendor && split_object(value.text())) return value.text();
  }
  return {};
}

std::string with_members(std::string object, std::string_view of) {
  const auto begin = of.find('{');
  const auto end = of.rfind('}');
  if (begin == std::string_view::npos || end == std::string_view::npos) return object;
  of = of.substr(begin + 1, end - begin - 1);
  if (of.find_first_not_of(" \t\r\n") == std::string_view::npos) return object;
  object.pop_back();
  return object.append(object.size() > 1 ? "," : "").append(of).append("}");
}

bool has_error(const Json& json) {
  const Json* const error = json.find("error");
  return error != nullptr && !error->is_null();
}

std::string error_words(std::string_view body) {
  std::string words;
  if (const auto json = parse_foreign_json(body)) words = words_of(*json).value_or("");
  return words.empty() ? std::string(body) : words;
}

std::string shortened(std::string words) {
  if (words.size() <= error_chars_max) return words;
  return std::string(utf8_prefix(words, error_chars_max)) + " …";
}

}  // namespace perdure::wire
