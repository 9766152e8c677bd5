// What a block of Anthropic's becomes in a message, so that anthropic.cpp can write it again.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/anthropic_stream.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/raw_json.hpp"
#include "perdure/runtime/conversation.hpp"

namespace perdure {
namespace {

RawJson raw_object(ObjectWriter& writer) {
  auto raw = RawJson::from_text(writer.finish());
  return raw ? *std::move(raw) : RawJson::from_value(Json::Object{});
}

// A member may be as large as all of the response: it is held once.
void add_members(ObjectWriter& writer, AnthropicDraft& draft) {
  for (auto& [key, value] : draft.members) writer.add_raw(key, std::exchange(value, {}));
}

// What is not in the block's own fields, for the vendor alone.
Unknown own_members(AnthropicDraft& draft) {
  if (draft.members.empty()) return {};
  ObjectWriter writer;
  add_members(writer, draft);
  return {{"anthropic", raw_object(writer)}};
}

Block reasoning_of(AnthropicDraft& draft) {
  ObjectWriter own;
  own.add("type", draft.type);
  add_members(own, draft);
  ObjectWriter metadata;
  metadata.add_raw("anthropic", own.finish());
  return ReasoningBlock{.text = std::move(draft.text), .metadata = raw_object(metadata)};
}

Block call_of(AnthropicDraft& draft) {
  std::string args = std::move(draft.input);
  for (auto& [key, value] : draft.members) {
    if (key == "input" && args.empty()) args = std::move(value);
  }
  if (args.empty()) args = "{}";
  std::erase_if(draft.members, [](const auto& member) { return member.first == "input"; });
  return ToolCallBlock{.id = std::move(draft.id),
                       .name = std::move(draft.name),
                       .args = std::move(args),
                       .unknown = own_members(draft)};
}

Block other_of(const AnthropicDraft& draft) {
  ObjectWriter block;
  block.add("type", draft.type);
  bool has_input = false;
  const bool is_input_json = is_json(draft.input);
  for (const auto& [key, value] : draft.members) {
    const bool is_replaced = key == "input" && is_input_json;
    has_input = has_input || is_replaced;
    block.add_raw(key, is_replaced ? draft.input : value);
  }
  if (is_input_json && !has_input) block.add_raw("input", draft.input);
  ObjectWriter json;
  json.add("kind", "anthropic");
  json.add_raw("block", block.finish());
  return OtherBlock{raw_object(json)};
}

}  // namespace

Block block_of(AnthropicDraft draft) {
  if (draft.type == "text") {
    return TextBlock{.text = std::move(draft.text), .unknown = own_members(draft)};
  }
  if (draft.type == "thinking" || draft.type == "redacted_thinking") return reasoning_of(draft);
  if (draft.type == "tool_use") return call_of(draft);
  return other_of(draft);
}

}  // namespace perdure
