// A message of the assistant is one element: its texts joined, its calls in a list.

#include "models/chat.hpp"

#include <array>
#include <cstdint>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "models/chat_stream.hpp"
#include "models/dialect.hpp"
#include "models/wire.hpp"
#include "perdure/agent/api_key.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/raw_json.hpp"
#include "perdure/runtime/conversation.hpp"

namespace perdure {
namespace {

constexpr std::string_view chat = "chat";
constexpr std::array<std::string_view, 5> set_for_chat = {"model", "messages", "tools", "stream",
                                                          "stream_options"};

void add_element(std::string& list, std::string element) {
  if (list.empty()) {
    list = std::move(element);
  } else {
    list.append(1, ',').append(element);
  }
}

std::string chat_call(const ToolCallBlock& call) {
  wire::ObjectText function(call.args.size());
  function.add("name", wire::tool_name(call.name));
  function.add("arguments", wire::call_args(call.args));
  wire::ObjectText writer(call.args.size());
  writer.add("id", wire::call_id(call.id));
  writer.add("type", "function");
  writer.add_raw("function", function.finish());
  const std::string own = wire::vendors_own(call.unknown, chat);
  std::string text = writer.finish();
  if (const auto members = wire::inside(own); !members.empty()) {
    text.insert(text.size() - 1, "," + std::string(members));
  }
  return text;
}

// What an assistant's message is made of here.
struct AssistantParts {
  std::string text;
  std::string refusal;
  std::string calls;
  ObjectWriter reasoning;
  bool has_reasoning = false;

  void operator()(const TextBlock& block) {
    const bool is_refusal = !wire::vendors_own(block.unknown, chat).empty();
    (is_refusal ? refusal : text) += block.text;
  }
  void operator()(const ToolCallBlock& block) { add_element(calls, chat_call(block)); }
  // What the vendor wants back, with the text in the field in which it came.
  void operator()(const ReasoningBlock& block) {
    const std::string own = wire::vendors_own(block.metadata, chat);
    const auto members = split_object(own);
    if (own.empty() || !members) return;
    has_reasoning = true;
    for (const RawMember& member : *members) {
      const auto field = member.key == "field" ? parse_json(member.value) : Json();
      const std::string* const name = field ? field->as_string() : nullptr;
      if (name != nullptr) {
        reasoning.add(*name, block.text);
      } else {
        reasoning.add_raw(member.key, member.value);
      }
    }
  }
  void operator()(const ToolResultBlock&) {}
  void operator()(const OtherBlock&) {}
};

std::string chat_result(const ToolResultBlock& result) {
  wire::ObjectText writer(result.content.size());
  writer.add("role", "tool");
  writer.add("tool_call_id", wire::call_id(result.call_id));
  writer.add("content", result.content);
  return writer.finish();
}

std::string said(std::string_view role, std::string_view text) {
  wire::ObjectText writer(text.size());
  writer.add("role", role);
  writer.add("content", text);
  return writer.finish();
}

std::string chat_tool(const ToolDefinition& tool) {
  ObjectWriter function;
  function.add("name", tool.name);
  if (!tool.description.empty()) function.add("description", tool.description);
  function.add_raw("parameters", tool.input_schema.text());
  ObjectWriter writer;
  writer.add("type", "function");
  writer.add_raw("function", function.finish());
  return writer.finish();
}

// How long a response may be; `own` is a server's own name for it, or empty.
std::optional<std::int64_t> said_by(const Setup& setup, std::string_view own) {
  for (const std::string_view key :
       {own, std::string_view("max_completion_tokens"), std::string_view("max_tokens")}) {
    if (key.empty()) continue;
    if (const auto told = wire::parameter(setup, key)) return told;
  }
  return std::nullopt;
}

}  // namespace

Result<std::string> ChatDialect::head(const Setup& setup) const {
  auto parameters = wire::parameters(setup, set_for_chat);
  if (!parameters) return forward(parameters);
  std::string head = R"({"model":)" + wire::quoted(setup.model);
  if (!parameters->empty()) head += "," + *parameters;
  head += R"(,"stream":true,"stream_options":{"include_usage":true})";
  std::string tools;
  for (const ToolDefinition& tool : setup.tools) add_element(tools, chat_tool(tool));
  if (!tools.empty()) head += R"(,"tools":[)" + tools + "]";
  head += R"(,"messages":[)";
  if (!setup.system_prompt.empty()) head += said(options_.system_role, setup.system_prompt);
  return head;
}

std::string ChatDialect::cap(const Setup& setup) const {
  if (said_by(setup, options_.cap_parameter)) return {};
  const std::string& url = options_.http.base_url;
  const bool is_openai = url.empty() || url.starts_with("https://api.openai.com");
  std::string name = options_.cap_parameter;
  if (name.empty()) name = is_openai ? "max_completion_tokens" : "max_tokens";
  return fmt::format("{}:{}", wire::quoted(name), options_.http.tokens_out_max);
}

std::string ChatDialect::message(const Message& message) const {
  return message.role == Role::assistant ? assistant(message) : others(message);
}

std::string ChatDialect::last_message(const Message& message) const {
  return this->message(message);
}

std::string ChatDialect::assistant(const Message& message) const {
  AssistantParts parts;
  for (const Block& block : message.blocks) std::visit(parts, block);
  const bool has_words = !parts.text.empty() || !parts.refusal.empty();
  if (!has_words && parts.calls.empty()) return {};
  wire::ObjectText writer(parts.text.size() + parts.calls.size());
  writer.add("role", "assistant");
  if (parts.text.empty()) {
    writer.add_raw("content", "null");
  } else {
    writer.add("content", parts.text);
  }
  if (!parts.refusal.empty()) writer.add("refusal", parts.refusal);
  if (!parts.calls.empty()) writer.add_raw("tool_calls", "[" + parts.calls + "]");
  std::string text = writer.finish();
  if (!parts.has_reasoning || !options_.sends_reasoning) return text;
  const std::string reasoning = parts.reasoning.finish();
  if (const auto members = wire::inside(reasoning); !members.empty()) {
    text.insert(text.size() - 1, "," + std::string(members));
  }
  return text;
}

std::string ChatDialect::others(const Message& message) const {
  std::string list;
  std::string text;
  for (const Block& block : message.blocks) {
    if (const auto* result = std::get_if<ToolResultBlock>(&block)) {
      add_element(list, chat_result(*result));
    } else if (const auto* words = std::get_if<TextBlock>(&block)) {
      if (!text.empty() && !words->text.empty()) text += "\n";
      text += words->text;
    }
  }
  const std::string role = message.role == Role::system ? options_.system_role : "user";
  if (!text.empty()) add_element(list, said(role, text));
  return list;
}

std::int64_t ChatDialect::tokens_out_max(const Setup& setup) const {
  return said_by(setup, options_.cap_parameter).value_or(options_.http.tokens_out_max);
}

std::vector<std::pair<std::string, std::string>> ChatDialect::headers() const {
  std::vector<std::pair<std::string, std::string>> headers = options_.http.headers;
  const ApiKey& key = options_.http.key;
  if (!key.is_none()) headers.emplace_back("Authorization", "Bearer " + key.reveal());
  return headers;
}

std::unique_ptr<ResponseStream> ChatDialect::open(ModelObserver& observer) const {
  return std::make_unique<ChatStream>(observer);
}

}  // namespace perdure
