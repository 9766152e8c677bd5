// Messages and their blocks, to JSON and back.

#include "perdure/runtime/message.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "core/api/json_text.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/raw_json.hpp"
#include "perdure/core/time.hpp"
#include "runtime/api/fields.hpp"

namespace perdure {
namespace {

using values::add_bytes;
using values::add_json;
using values::add_unknown;
using values::Fields;

void take_text(Fields& fields, std::string_view key, std::string& out) {
  fields.require(key);
  fields.take_bytes(key, out);
}

struct BlockWriter {
  std::string operator()(const TextBlock& block) const {
    ObjectWriter writer;
    writer.add("kind", "text");
    add_bytes(writer, "text", block.text);
    add_unknown(writer, block.unknown);
    return writer.finish();
  }
  std::string operator()(const ReasoningBlock& block) const {
    ObjectWriter writer;
    writer.add("kind", "reasoning");
    add_bytes(writer, "text", block.text);
    add_json(writer, "metadata", block.metadata.text());
    add_unknown(writer, block.unknown);
    return writer.finish();
  }
  std::string operator()(const ToolCallBlock& block) const {
    ObjectWriter writer;
    writer.add("kind", "tool_call");
    add_bytes(writer, "id", block.id);
    add_bytes(writer, "name", block.name);
    add_json(writer, "args", block.args);
    add_unknown(writer, block.unknown);
    return writer.finish();
  }
  std::string operator()(const ToolResultBlock& block) const {
    ObjectWriter writer;
    writer.add("kind", "tool_result");
    add_bytes(writer, "call_id", block.call_id);
    add_bytes(writer, "content", block.content);
    writer.add("is_error", block.is_error);
    add_unknown(writer, block.unknown);
    return writer.finish();
  }
  std::string operator()(const OtherBlock& block) const { return block.json.text(); }
};

template <class Known>
Result<Block> finish(Fields& fields, Known block) {
  auto unknown = fields.finish();
  if (!unknown) return forward(unknown);
  block.unknown = *std::move(unknown);
  return Block(std::move(block));
}

Result<Block> text_from(Fields& fields) {
  TextBlock block;
  take_text(fields, "text", block.text);
  return finish(fields, std::move(block));
}

Result<Block> reasoning_from(Fields& fields) {
  ReasoningBlock block;
  take_text(fields, "text", block.text);
  fields.take_json("metadata", block.metadata);
  return finish(fields, std::move(block));
}

Result<Block> tool_call_from(Fields& fields) {
  ToolCallBlock block;
  take_text(fields, "id", block.id);
  take_text(fields, "name", block.name);
  if (!fields.has("args_text")) fields.require("args");
  fields.take_json("args", block.args);
  return finish(fields, std::move(block));
}

Result<Block> tool_result_from(Fields& fields) {
  ToolResultBlock block;
  take_text(fields, "call_id", block.call_id);
  take_text(fields, "content", block.content);
  fields.take("is_error", block.is_error);
  return finish(fields, std::move(block));
}

Result<Block> block_from_json(std::string_view text) {
  Fields fields(text, "block");
  std::string kind;
  fields.require("kind");
  fields.take("kind", kind);
  if (kind == "text") return text_from(fields);
  if (kind == "reasoning") return reasoning_from(fields);
  if (kind == "tool_call") return tool_call_from(fields);
  if (kind == "tool_result") return tool_result_from(fields);
  if (auto unknown = fields.finish(); !unknown) return forward(unknown);
  return Block(OtherBlock{RawJson::from_text(std::string(text)).value()});
}

Message says(Role role, std::string text) {
  Message message;
  message.role = role;
  message.blocks.emplace_back(TextBlock{.text = std::move(text)});
  return message;
}

}  // namespace

std::string_view to_string(Role role) {
  switch (role) {
    case Role::user:
      return "user";
    case Role::assistant:
      return "assistant";
    case Role::system:
      return "system";
  }
  return "";
}

std::optional<Role> role_from(std::string_view text) {
  for (const Role role : {Role::user, Role::assistant, Role::system}) {
    if (to_string(role) == text) return role;
  }
  return std::nullopt;
}

Message user_says(std::string text) { return says(Role::user, std::move(text)); }
Message assistant_says(std::string text) { return says(Role::assistant, std::move(text)); }

Result<Json> parse_args(std::string_view args) {
  if (args.find_first_not_of(" \t\r\n") == std::string_view::npos) return Json(Json::Object{});
  return parse_foreign_json(args);
}

std::string text_of(const Message& message) {
  std::string text;
  for (const Block& block : message.blocks) {
    if (const auto* part = std::get_if<TextBlock>(&block)) text += part->text;
  }
  return text;
}

std::string to_json(const Message& message) {
  ObjectWriter writer;
  writer.add("id", message.id);
  writer.add("role", to_string(message.role));
  writer.add("created_at", to_iso8601(message.created_at));
  std::string blocks = "[";
  for (const Block& block : message.blocks) {
    if (blocks.size() > 1) blocks += ',';
    blocks += std::visit(BlockWriter{}, block);
  }
  writer.add_raw("blocks", blocks + "]");
  if (message.is_partial) writer.add("partial", true);
  add_unknown(writer, message.unknown);
  return writer.finish();
}

Result<Message> message_from_json(std::string_view text) {
  Fields fields(text, "message");
  Message message;
  fields.take("id", message.id);
  fields.require("role");
  fields.take_word("role", message.role, role_from);
  fields.take("created_at", message.created_at);
  fields.require("blocks");
  fields.take_each("blocks", [&](std::string_view element) -> Result<void> {
    auto block = block_from_json(element);
    if (!block) return forward(block);
    message.blocks.push_back(*std::move(block));
    return {};
  });
  fields.take("partial", message.is_partial);
  auto unknown = fields.finish();
  if (!unknown) return forward(unknown);
  message.unknown = *std::move(unknown);
  return message;
}

}  // namespace perdure
