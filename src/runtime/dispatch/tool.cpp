// What follows from a tool's declarations, which of them contradict each other, and which operation a
// call of it is. A call that left a default out and one that wrote it down are the same operation;
// 1 and 1.0 are; two 64-bit numbers that one double would stand for are not.

#include "perdure/runtime/tool.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/api/json_text.hpp"
#include "core/api/sha256.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "runtime/api/fields.hpp"
#include "runtime/api/operation.hpp"
#include "runtime/api/session.hpp"
#include "runtime/api/state_details.hpp"
#include "store/api/limits.hpp"

namespace perdure {
namespace {

constexpr std::array repeats = {
    std::pair{Repeat::each_call, std::string_view("each_call")},
    std::pair{Repeat::once_per_session, std::string_view("once_per_session")},
    std::pair{Repeat::once_per_store, std::string_view("once_per_store")},
};

bool only_reads(const Tool& tool) {
  return tool.side_effects && !tool.side_effects->write && !tool.side_effects->mutate;
}

// The first contradiction, in words; empty if there is none.
std::string contradiction_in(const Tool& tool) {
  if (tool.answer && (tool.run || tool.verify || tool.honours_key || tool.side_effects)) {
    return "is answered by its session, and has nothing else to run or to declare";
  }
  if (!tool.run && !tool.answer) return "has nothing to run";
  if (only_reads(tool) && !tool.side_effects->read)
    return "declares side effects, but none of them";
  if (tool.honours_key && !tool.side_effects) return "honours a key, but declares no side effects";
  if (tool.honours_key && only_reads(tool)) return "only reads, so there is no key to honour";
  if (tool.key_window && !tool.honours_key) return "has a key window, but does not honour a key";
  if (tool.verify && only_reads(tool)) return "only reads, so there is nothing to verify";
  if (tool.timeout <= Duration(0) || tool.verify_timeout <= Duration(0))
    return "has no time to run";
  if (tool.in_flight_max < Duration(0)) return "has a negative time in flight";
  if (tool.attempts_max < 1) return "may not even be tried once";
  if (!is_json(tool.input_schema)) return "has an input schema that is not JSON";
  if (!tool.business_key.empty() && !tool.business_key.starts_with('/')) {
    return "has a business key that is no JSON pointer: it begins with '/'";
  }
  return {};
}

}  // namespace

std::string_view to_string(Repeat repeat) { return values::word_of(repeats, repeat); }
std::optional<Repeat> repeat_from(std::string_view text) { return values::value_of(repeats, text); }

std::shared_ptr<const SelfAnswering> answered_by(AnswerFunction function) {
  return std::make_shared<const SelfAnswering>(SelfAnswering{std::move(function)});
}

EffectClass effect_class_of(const Tool& tool) {
  if (only_reads(tool)) return EffectClass::read_only;
  if (tool.honours_key || tool.answer) return EffectClass::idempotent;
  return tool.verify ? EffectClass::verifiable : EffectClass::unsafe;
}

Result<Tools> Tools::of(std::vector<Tool> tools) {
  Tools made;
  for (Tool& tool : tools) {
    if (auto name = check_name("tool name", tool.name, name_bytes_max); !name) return forward(name);
    if (const std::string problem = contradiction_in(tool); !problem.empty()) {
      return fail(ErrorCode::invalid_argument, fmt::format("tool {} {}", tool.name, problem),
                  tool.name);
    }
    // The attempt itself does nothing; what it came to is worked out when it is recorded.
    if (tool.answer) tool.run = [](const CallContext&) { return Succeeded{}; };
    const std::string name = tool.name;
    if (!made.by_name_.emplace(name, std::move(tool)).second) {
      return fail(ErrorCode::invalid_argument, fmt::format("there are two tools named {}", name),
                  name);
    }
  }
  return made;
}

const Tool* Tools::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &found->second;
}

}  // namespace perdure

namespace perdure::dispatch {
namespace {

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

Json complete_args(const Tool& tool, const Json& args) {
  const auto schema = parse_json(tool.input_schema);
  return schema ? with_defaults(args, *schema) : args;
}

}  // namespace

Result<Operation> operation_of(const Tool& tool, const Json& args, const Place& place) {
  if (tool.repeat == Repeat::once_per_session && place.root_nonce.empty()) {
    return fail(ErrorCode::corrupted,
                fmt::format("whether {} was done before cannot be known: the record of where this "
                            "session comes from is lost. Fork it with fresh effects to do it again",
                            tool.name));
  }
  const Json complete = complete_args(tool, args);
  auto all = canonical_json(complete);
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
  auto all = canonical_json(complete_args(tool, args));
  if (!all) return forward(all);
  return sha256(*all);
}

std::string vendor_key(const Digest& key, std::int64_t failures) {
  return failures == 0 ? to_hex(key) : fmt::format("{}-{}", to_hex(key), failures);
}

}  // namespace perdure::dispatch
