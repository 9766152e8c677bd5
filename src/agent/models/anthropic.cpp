// The order of a body's members is the order of the vendor's cache: tools, system, messages.

#include "models/anthropic.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <fmt/format.h>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/api/json_text.hpp"
#include "core/api/raw_json.hpp"
#include "models/dialect.hpp"
#include "models/sse.hpp"
#include "models/wire.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
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

// Usage is cumulative: a later number replaces an earlier one. Input is told in three parts, which
// are added up.

namespace {

constexpr std::array<std::string_view, 7> known_events = {"message_start",
                                                          "content_block_start",
                                                          "content_block_delta",
                                                          "content_block_stop",
                                                          "message_delta",
                                                          "message_stop",
                                                          "error"};

std::unexpected<Error> not_understood(std::string_view what) {
  return fail(ErrorCode::unavailable, "the response's stream " + std::string(what));
}

StopReason stop_reason_from(std::string_view word) {
  if (word == "end_turn" || word == "stop_sequence") return StopReason::end;
  if (word == "tool_use") return StopReason::calls;
  if (word == "max_tokens" || word == "model_context_window_exceeded") return StopReason::length;
  if (word == "pause_turn") return StopReason::paused;
  if (word == "refusal") return StopReason::refusal;
  return StopReason::other;
}

// Two strings are joined, as texts: the first loses its last quote, and the second its first. Anything
// else is replaced.
void join_member(AnthropicDraft& draft, std::string_view key, std::string_view value) {
  const auto found =
      std::ranges::find(draft.members, key, &std::pair<std::string, std::string>::first);
  if (found == draft.members.end()) {
    draft.members.emplace_back(key, value);
    return;
  }
  if (!found->second.starts_with('"') || !value.starts_with('"')) {
    found->second = value;
    return;
  }
  found->second.pop_back();
  found->second += value.substr(1);
}

void add_citation(AnthropicDraft& draft, std::string_view citation) {
  if (citation.empty()) return;
  const auto found =
      std::ranges::find(draft.members, "citations", &std::pair<std::string, std::string>::first);
  if (found == draft.members.end()) {
    draft.members.emplace_back("citations", "[" + std::string(citation) + "]");
    return;
  }
  if (!found->second.starts_with('[')) found->second = "[]";
  found->second.pop_back();
  if (found->second.find_last_not_of(" \t\r\n[") != std::string::npos) found->second += ',';
  found->second.append(citation).append("]");
}

}  // namespace

Result<void> AnthropicStream::take(const SseEvent& event) {
  if (has_ended_) return {};
  const bool is_named = !event.name.empty();
  if (is_named && std::ranges::find(known_events, event.name) == known_events.end()) return {};
  std::string room;
  const std::string_view data = wire::as_text(event.data, room);
  const auto json = parse_foreign_json(data);
  if (!json) return not_understood("has an event that is no JSON: " + json.error().message);
  const std::string type = is_named ? std::string(event.name) : wire::text_in(*json, "type");
  return take_known(type, *json, data);
}

Result<void> AnthropicStream::take_known(std::string_view type, const Json& json,
                                         std::string_view data) {
  if (type == "error") {
    was_refused_ = !has_begun_;
    return fail(ErrorCode::unavailable, wire::error_words(data));
  }
  has_begun_ = has_begun_ || type != "ping";
  const std::int64_t index = wire::number_in(json, "index");
  if (type == "message_start") {
    if (const Json* const message = json.find("message")) begin_message(*message);
  }
  if (type == "content_block_start") {
    return begin_block(index, json.find("content_block"), wire::raw_in(data, "content_block"));
  }
  if (type == "content_block_delta") return take_delta(json, data);
  if (type == "content_block_stop") end_block(index);
  if (type == "message_delta") take_end(json, json.find("delta"));
  if (type == "message_stop") has_ended_ = true;
  return {};
}

Result<void> AnthropicStream::take_whole(const Json& json, std::string_view raw) {
  const auto blocks = split_array(wire::raw_in(raw, "content"));
  has_begun_ = blocks && wire::text_in(json, "role") == "assistant";
  if (has_begun_) begin_message(json);
  for (std::size_t i = 0; has_begun_ && i < blocks->size(); ++i) {
    const auto index = static_cast<std::int64_t>(i);
    auto begun = begin_block(index, &(*json.find("content")->as_array())[i], (*blocks)[i]);
    if (!begun) return begun;
    const AnthropicDraft& draft = *draft_at(index);
    if (draft.type == "text") observer_.on_text(draft.text);
    if (draft.type == "thinking") observer_.on_reasoning(draft.text);
    end_block(index);
  }
  if (has_begun_) take_end(json, &json);
  if (const Json* const error = json.find("error"); error != nullptr && !error->is_null()) {
    was_refused_ = !has_begun_;
    return fail(ErrorCode::unavailable, wire::error_words(raw));
  }
  has_ended_ = has_begun_;
  return {};
}

void AnthropicStream::begin_message(const Json& message) {
  response_.response_id = wire::text_in(message, "id");
  response_.model = wire::text_in(message, "model");
  take_usage(message);
}

Result<void> AnthropicStream::begin_block(std::int64_t index, const Json* block,
                                          std::string_view raw) {
  const auto members = split_object(raw);
  if (block == nullptr || !members) return not_understood("begins a block that is none");
  if (drafts_.size() >= wire::blocks_max) {
    return fail(ErrorCode::unavailable,
                fmt::format("the response has more than {} blocks", wire::blocks_max));
  }
  AnthropicDraft draft{.type = wire::text_in(*block, "type")};
  const bool is_call = draft.type == "tool_use";
  const std::string_view text_key = draft.type == "thinking" ? "thinking" : "text";
  if (draft.type == "text" || draft.type == "thinking")
    draft.text = wire::text_in(*block, text_key);
  for (const RawMember& member : *members) {
    if (member.key == "type") continue;
    if (is_call && member.key == "id") {
      draft.id = wire::text_in(*block, "id");
    } else if (is_call && member.key == "name") {
      draft.name = wire::text_in(*block, "name");
    } else if (member.key != text_key || (draft.type != "text" && draft.type != "thinking")) {
      draft.members.emplace_back(member.key, member.value);
    }
  }
  AnthropicDraft* const before = draft_at(index);
  if (is_call && before != nullptr && !draft.id.empty() && before->id == draft.id) {
    *before = std::move(draft);
  } else {
    drafts_.emplace(index, std::move(draft));
  }
  return {};
}

AnthropicDraft* AnthropicStream::draft_at(std::int64_t index) {
  const auto [first, end] = drafts_.equal_range(index);
  return first == end ? nullptr : &std::prev(end)->second;
}

Result<void> AnthropicStream::take_delta(const Json& json, std::string_view data) {
  AnthropicDraft* const draft = draft_at(wire::number_in(json, "index"));
  const Json* const delta = json.find("delta");
  if (draft == nullptr || delta == nullptr) {
    return not_understood("goes on with a block that has not begun");
  }
  apply(*draft, *delta, wire::raw_in(data, "delta"));
  return {};
}

void AnthropicStream::apply(AnthropicDraft& draft, const Json& delta, std::string_view raw) {
  const std::string type = wire::text_in(delta, "type");
  if (type == "text_delta" && draft.type == "text") {
    const std::string piece = wire::text_in(delta, "text");
    wire::append(draft.text, piece);
    observer_.on_text(piece);
  } else if (type == "thinking_delta" && draft.type == "thinking") {
    const std::string piece = wire::text_in(delta, "thinking");
    wire::append(draft.text, piece);
    observer_.on_reasoning(piece);
  } else if (type == "input_json_delta") {
    draft.input += wire::text_in(delta, "partial_json");
  } else if (type == "citations_delta") {
    add_citation(draft, wire::raw_in(raw, "citation"));
  } else if (const auto members = split_object(raw)) {
    for (const RawMember& member : *members) {
      if (member.key != "type") join_member(draft, member.key, member.value);
    }
  }
}

void AnthropicStream::end_block(std::int64_t index) {
  const AnthropicDraft* const draft = draft_at(index);
  if (draft == nullptr || draft->type != "tool_use") return;
  const Block block = block_of(*draft);
  if (const auto* const call = std::get_if<ToolCallBlock>(&block)) observer_.on_call(*call);
}

void AnthropicStream::take_end(const Json& counted, const Json* stopped) {
  take_usage(counted);
  // What the beginning says of the output is not all of it.
  const Json* const usage = counted.find("usage");
  has_output_ = has_output_ || (usage != nullptr && wire::has_count(*usage, "output_tokens"));
  if (stopped == nullptr) return;
  const std::string word = wire::text_in(*stopped, "stop_reason");
  if (word.empty()) return;
  response_.stop = stop_reason_from(word);
  response_.stop_text = word;
  const Json* const details = stopped->find("stop_details");
  if (details == nullptr) return;
  const std::string explanation = wire::text_in(*details, "explanation");
  if (!explanation.empty()) response_.stop_text += ": " + explanation;
}

void AnthropicStream::take_usage(const Json& holder) {
  const Json* const usage = holder.find("usage");
  if (usage == nullptr || !usage->is_object()) return;
  const auto take = [&](std::string_view key, std::int64_t& to) {
    if (const Json* const found = usage->find(key); found != nullptr && found->is_number()) {
      to = wire::number_in(*usage, key);
    }
  };
  ModelUsage& total = response_.usage;
  has_input_ = has_input_ || wire::has_count(*usage, "input_tokens");
  take("input_tokens", uncached_);
  take("cache_creation_input_tokens", total.cache_write);
  take("cache_read_input_tokens", total.cache_read);
  take("output_tokens", total.tokens_out);
  if (const Json* const details = usage->find("output_tokens_details")) {
    total.reasoning = wire::number_in(*details, "thinking_tokens");
  }
  total.tokens_in = uncached_ + total.cache_write + total.cache_read;
}

ModelResponse AnthropicStream::finish() {
  response_.message.role = Role::assistant;
  response_.message.is_partial = !has_ended_;
  // What was not counted was not free.
  response_.usage.is_known = has_ended_ && has_input_ && has_output_;
  for (auto& [index, draft] : drafts_) {
    response_.message.blocks.push_back(block_of(std::exchange(draft, {})));
  }
  return std::move(response_);
}

}  // namespace perdure
