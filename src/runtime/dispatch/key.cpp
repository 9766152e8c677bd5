// A call that left a default out and one that wrote it down are the same operation;
// 1 and 1.0 are; two 64-bit numbers that one double would stand for are not.

#include "runtime/api/key.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <utility>

#include "core/api/json_text.hpp"
#include "core/api/sha256.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"

namespace perdure::dispatch {
Json with_defaults(Json args, const Json& schema) {
  const Json* properties = schema.find("properties");
  if (properties == nullptr || !properties->is_object() || !args.is_object()) return args;
  for (const auto& [key, property] : *properties->as_object()) {
    const Json* given = args.find(key);
    const Json* standard = property.find("default");
    if (given == nullptr && standard == nullptr) continue;
    args.set(key, with_defaults(given != nullptr ? *given : *standard, property));
  }
  return args;
}

namespace {

constexpr std::uint64_t key_version = 3;

// RFC 6901, through objects: an index into a list names no operation.
const Json* find_in_objects(const Json& json, std::string_view pointer) {
  const Json* at = &json;
  while (at != nullptr && !pointer.empty()) {
    pointer.remove_prefix(1);
    const auto end = std::min(pointer.find('/'), pointer.size());
    at = at->find(pointer_name(pointer.substr(0, end)));
    pointer.remove_prefix(end);
  }
  return at;
}

std::string scope_of(Repeat repeat, const Place& place) {
  switch (repeat) {
    case Repeat::each_call:
      return fmt::format("call {}:{} {}", place.session, place.call, place.nonce);
    case Repeat::once_per_session:
      return fmt::format("session {} {}", place.root, place.root_nonce);
    case Repeat::once_per_store:
      return "store";
  }
  return {};
}

Digest key_of(std::string_view tool, const Operation& operation) {
  Sha256 hash;
  hash.update_number(key_version);
  hash.update_sized(operation.scope);
  hash.update_sized(tool);
  hash.update_sized(to_hex(operation.name.value_or(operation.args)));
  return hash.finish();
}

Result<std::string> canonical_args(const Tool& tool, const Json& args, Json& complete) {
  const auto schema = parse_json(tool.input_schema);
  complete = schema ? with_defaults(args, *schema) : args;
  return canonical_json(complete);
}

}  // namespace

Result<Operation> operation_of(const Tool& tool, const Json& args, const Place& place) {
  if (tool.repeat == Repeat::once_per_session && place.root_nonce.empty()) {
    return fail(ErrorCode::corrupted,
                fmt::format("whether {} was done before cannot be known: the record of where this "
                            "session comes from is lost. Fork it with fresh effects to do it again",
                            tool.name));
  }
  Json complete;
  auto all = canonical_args(tool, args, complete);
  if (!all) return forward(all);
  Operation operation{.args = sha256(*all), .scope = scope_of(tool.repeat, place)};
  if (!tool.business_key.empty()) {
    const Json* named = find_in_objects(complete, tool.business_key);
    if (named == nullptr || named->is_null()) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("the arguments of {} lack {}, which names the operation", tool.name,
                              tool.business_key));
    }
    auto text = canonical_json(*named);
    if (!text) return forward(text);
    operation.name = sha256(*text);
  }
  operation.key = key_of(tool.name, operation);
  return operation;
}

Operation operation_in(const OpenCall& call, const Place& place) {
  const Repeat repeat = repeat_from(call.repeat).value_or(Repeat::each_call);
  Operation operation{
      .args = call.args_digest, .name = call.operation, .scope = scope_of(repeat, place)};
  operation.key = key_of(call.tool, operation);
  return operation;
}

Result<Digest> args_digest_of(const Tool& tool, const Json& args) {
  Json complete;
  auto all = canonical_args(tool, args, complete);
  if (!all) return forward(all);
  return sha256(*all);
}

std::string vendor_key(const Digest& key, std::int64_t failures) {
  return failures == 0 ? to_hex(key) : fmt::format("{}-{}", to_hex(key), failures);
}

}  // namespace perdure::dispatch
