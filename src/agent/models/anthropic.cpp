// The order of a body's members is the order of the vendor's cache: tools, system, messages.

#include "models/anthropic.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "models/anthropic_stream.hpp"
#include "models/dialect.hpp"
#include "models/wire.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/raw_json.hpp"
#include "perdure/runtime/conversation.hpp"

namespace perdure {
namespace {

constexpr std::string_view anthropic = "anthropic";
constexpr std::string_view cache_mark = R"(,"cache_control":{"type":"ephemeral"}})";
constexpr std::array<std::string_view, 5> set_for_anthropic = {"model", "messages", "system",
                                                               "tools", "stream"};

// The members of `own` behind those of `block`, inside its braces.
std::string with_own(std::string block, std::string_view own) {
  const std::string_view members = wire::inside(own);
  if (members.empty()) return block;
  block.insert(block.size() - 1, "," + std::string(members));
  return block;
}

// Each as a block's text; empty if it is not sent.
struct AnthropicBlock {
  std::string operator()(const TextBlock& block) const {
    if (block.text.empty()) return {};
    wire::ObjectText writer(block.text.size());
    writer.add("type", "text");
    writer.add("text", block.text);
    return with_own(writer.finish(), wire::vendors_own(block.unknown, anthropic));
  }
  std::string operator()(const ReasoningBlock& block) const {
    std::string own = wire::vendors_own(block.metadata, anthropic);
    if (own.empty()) return {};
    const auto json = parse_json(own);
    if (!json || wire::text_in(*json, "type") != "thinking") return own;
    return R"({"type":"thinking","thinking":)" + wire::quoted(block.text) +
           with_own("}", "{" + without_type(own) + "}");
  }
  std::string operator()(const ToolCallBlock& block) const {
    wire::ObjectText writer(block.args.size());
    writer.add("type", "tool_use");
    writer.add("id", wire::call_id(block.id));
    writer.add("name", wire::tool_name(block.name));
    writer.add_raw("input", wire::call_args(block.args));
    return with_own(writer.finish(), wire::vendors_own(block.unknown, anthropic));
  }
  std::string operator()(const ToolResultBlock& block) const {
    wire::ObjectText writer(block.content.size());
    writer.add("type", "tool_result");
    writer.add("tool_use_id", wire::call_id(block.call_id));
    if (!block.content.empty()) writer.add("content", block.content);
    if (block.is_error) writer.add_raw("is_error", "true");
    return writer.finish();
  }
  std::string operator()(const OtherBlock& block) const {
    const Json json = block.json.value();
    if (wire::text_in(json, "kind") != anthropic) return {};
    return wire::vendors_own(block.json, "block");
  }

 private:
  static std::string without_type(std::string_view own) {
    std::string members;
    const auto split = split_object(own);
    if (!split) return members;
    for (const RawMember& member : *split) {
      if (member.key == "type") continue;
      if (!members.empty()) members += ',';
      members += wire::quoted(member.key) + ':' + std::string(member.value);
    }
    return members;
  }
};

bool can_be_marked(const Block& block) {
  return std::holds_alternative<TextBlock>(block) ||
         std::holds_alternative<ToolResultBlock>(block) ||
         std::holds_alternative<ToolCallBlock>(block);
}

std::string written(const Message& message, bool is_marked) {
  std::string blocks;
  for (std::size_t i = 0; i < message.blocks.size(); ++i) {
    std::string block = std::visit(AnthropicBlock{}, message.blocks[i]);
    if (block.empty()) continue;
    if (is_marked && i + 1 == message.blocks.size() && can_be_marked(message.blocks[i])) {
      block.pop_back();
      block += cache_mark;
    }
    if (!blocks.empty()) blocks += ',';
    blocks += block;
  }
  if (blocks.empty()) return {};
  const std::string_view role = message.role == Role::assistant ? "assistant" : "user";
  return R"({"role":")" + std::string(role) + R"(","content":[)" + blocks + "]}";
}

std::string tool_texts(const Setup& setup, bool is_marked) {
  std::string tools;
  for (const ToolDefinition& tool : setup.tools) {
    ObjectWriter writer;
    writer.add("name", tool.name);
    if (!tool.description.empty()) writer.add("description", tool.description);
    writer.add_raw("input_schema", tool.input_schema.text());
    if (!tools.empty()) tools += ',';
    tools += writer.finish();
  }
  if (is_marked && !tools.empty()) {
    tools.pop_back();
    tools += cache_mark;
  }
  return tools;
}

}  // namespace

Result<std::string> AnthropicDialect::head(const Setup& setup) const {
  auto parameters = wire::parameters(setup, set_for_anthropic);
  if (!parameters) return forward(parameters);
  if (!wire::parameter(setup, "max_tokens")) {
    const std::string max_tokens = "\"max_tokens\":" + std::to_string(options_.http.tokens_out_max);
    *parameters = max_tokens + (parameters->empty() ? "" : ",") + *parameters;
  }
  std::string head =
      R"({"model":)" + wire::quoted(setup.model) + "," + *parameters + R"(,"stream":true)";
  const bool has_system = !setup.system_prompt.empty();
  if (!setup.tools.empty()) {
    head += R"(,"tools":[)" + tool_texts(setup, options_.cache_hints && !has_system) + "]";
  }
  if (has_system) {
    head += R"(,"system":[{"type":"text","text":)" + wire::quoted(setup.system_prompt);
    head += options_.cache_hints ? cache_mark : std::string_view("}");
    head += ']';
  }
  return head + R"(,"messages":[)";
}

std::string AnthropicDialect::message(const Message& message) const {
  return written(message, false);
}

std::string AnthropicDialect::last_message(const Message& message) const {
  return written(message, options_.cache_hints);
}

std::int64_t AnthropicDialect::tokens_out_max(const Setup& setup) const {
  return wire::parameter(setup, "max_tokens").value_or(options_.http.tokens_out_max);
}

std::vector<std::pair<std::string, std::string>> AnthropicDialect::headers() const {
  std::vector<std::pair<std::string, std::string>> headers = options_.http.headers;
  headers.emplace_back("anthropic-version", options_.version);
  if (!options_.http.key.is_none()) headers.emplace_back("x-api-key", options_.http.key.reveal());
  return headers;
}

std::unique_ptr<ResponseStream> AnthropicDialect::open(ModelObserver& observer) const {
  return std::make_unique<AnthropicStream>(observer);
}

}  // namespace perdure
