// Changes of a scratchpad, and their JSON.

#include "perdure/runtime/scratchpad.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "perdure/core/error.hpp"
#include "perdure/core/raw_json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/log.hpp"
#include "values/fields.hpp"

namespace perdure {
namespace {

using values::Fields;

bool is_key_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

void take_value(Fields& fields, ScratchEntry& entry) {
  if (fields.has("blob")) {
    BlobRef ref;
    fields.take("blob", ref.digest);
    fields.require("size");
    fields.take("size", ref.size);
    entry.value = ref;
  } else {
    std::string text;
    fields.require("text");
    fields.take_bytes("text", text);
    entry.value = std::move(text);
  }
}

}  // namespace

Result<void> check_scratch_key(std::string_view key) {
  if (!key.empty() && key.size() <= scratch_key_bytes_max &&
      std::ranges::all_of(key, is_key_character)) {
    return {};
  }
  return fail(ErrorCode::invalid_argument,
              fmt::format("a key of the scratchpad is 1 to {} of A-Z, a-z, 0-9, '_' and '-'",
                          scratch_key_bytes_max));
}

Result<void> apply(Scratchpad& scratchpad, ScratchEntry entry) {
  auto checked = check_scratch_key(entry.key);
  if (!checked) return checked;
  if (entry.value) {
    scratchpad.values.insert_or_assign(std::move(entry.key), *std::move(entry.value));
  } else {
    scratchpad.values.erase(entry.key);
  }
  return {};
}

std::string_view kind_of(const ScratchEntry& entry) { return entry.value ? "set" : "delete"; }

std::string to_json(const ScratchEntry& entry) {
  ObjectWriter writer;
  values::add_bytes(writer, "key", entry.key);
  if (entry.value) {
    if (const auto* ref = std::get_if<BlobRef>(&*entry.value)) {
      writer.add("blob", to_hex(ref->digest));
      writer.add("size", ref->size);
    } else {
      values::add_bytes(writer, "text", std::get<std::string>(*entry.value));
    }
  }
  if (!entry.by.empty()) values::add_bytes(writer, "by", entry.by);
  values::add_unknown(writer, entry.unknown);
  return writer.finish();
}

Result<ScratchEntry> scratch_entry_from_json(std::string_view kind, std::string_view text) {
  if (kind != "set" && kind != "delete") {
    return fail(ErrorCode::invalid_argument, fmt::format("\"{}\" changes no scratchpad", kind));
  }
  return values::read_value<ScratchEntry>(
      text, "scratchpad entry", [&](Fields& fields, ScratchEntry& entry) {
        fields.require("key");
        fields.take_bytes("key", entry.key);
        if (kind == "set") take_value(fields, entry);
        fields.take_bytes("by", entry.by);
        if (auto checked = check_scratch_key(entry.key); !checked) {
          fields.fail_with(std::move(checked).error());
        }
      });
}

}  // namespace perdure
