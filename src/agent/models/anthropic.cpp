// Anthropic Messages: how a conversation is written, and how a response is read.
//
// What this vendor signed or added goes back as it came: a reasoning block's metadata, a text's or
// a call's own members, and whole blocks of unknown types are kept under the name "anthropic", and
// written only here. Reasoning of another vendor is left out: it has no signature of this one.
//
// The order of a body's members is the order of the vendor's cache: tools, system, messages.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/api/json_text.hpp"
#include "core/api/raw_json.hpp"
#include "models/dialect.hpp"
#include "models/http.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/state.hpp"

namespace perdure {
namespace {

constexpr std::string_view anthropic = "anthropic";
constexpr std::string_view cache_mark = R"(,"cache_control":{"type":"ephemeral"}})";
constexpr std::array<std::string_view, 5> set_for_anthropic = {"model", "messages", "system",
                                                               "tools", "stream"};

// Each as a block's text; empty if it is not sent.
struct AnthropicBlock {
  std::string operator()(const TextBlock& block) const {
    if (block.text.empty()) return {};
    ObjectWriter writer;
    writer.add("type", "text");
    writer.add("text", block.text);
    return wire::with_members(writer.finish(), wire::vendors_own(block.unknown, anthropic));
  }
  std::string operator()(const ReasoningBlock& block) const {
    std::string own = wire::vendors_own(block.metadata, anthropic);
    const auto members = split_object(own);
    if (wire::raw_in(own, "type") != R"("thinking")" || !members) return own;
    ObjectWriter writer;
    writer.add("type", "thinking");
    writer.add("thinking", block.text);
    for (const RawMember& member : *members) {
      if (member.key != "type") writer.add_raw(member.key, member.value);
    }
    return writer.finish();
  }
  std::string operator()(const ToolCallBlock& block) const {
    ObjectWriter writer;
    writer.add("type", "tool_use");
    writer.add("id", wire::call_id(block.id));
    writer.add("name", wire::tool_name(block.name));
    writer.add_raw("input", wire::call_args(block.args));
    return wire::with_members(writer.finish(), wire::vendors_own(block.unknown, anthropic));
  }
  std::string operator()(const ToolResultBlock& block) const {
    ObjectWriter writer;
    writer.add("type", "tool_result");
    writer.add("tool_use_id", wire::call_id(block.call_id));
    if (!block.content.empty()) writer.add("content", block.content);
    if (block.is_error) writer.add("is_error", true);
    return writer.finish();
  }
  std::string operator()(const OtherBlock& block) const {
    if (text_in(block.json.value(), "kind") != anthropic) return {};
    return wire::vendors_own(block.json, "block");
  }
};

bool can_be_marked(const Block& block) {
  return std::holds_alternative<TextBlock>(block) ||
         std::holds_alternative<ToolResultBlock>(block) ||
         std::holds_alternative<ToolCallBlock>(block);
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

/// A block of a response, as far as it came.
struct AnthropicDraft {
  std::string type{};
  std::string id{};     ///< Of a call.
  std::string name{};   ///< Of a call.
  std::string text{};   ///< What was said or thought.
  std::string input{};  ///< The pieces of a call's arguments, one after the other.
  /// All other members, each as it was written.
  std::vector<std::pair<std::string, std::string>> members{};
};

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

Block block_of(AnthropicDraft draft) {
  if (draft.type == "text") {
    return TextBlock{.text = std::move(draft.text), .unknown = own_members(draft)};
  }
  if (draft.type == "thinking" || draft.type == "redacted_thinking") return reasoning_of(draft);
  if (draft.type == "tool_use") return call_of(draft);
  return other_of(draft);
}

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

// Two strings are joined, as texts: the first loses its last quote, and the second its first.
// Anything else is replaced.
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

// Blocks arrive one after the other: a start, deltas, a stop. What a delta changes is known for
// text, thinking and calls; any other delta is joined to its block member by member, so that a
// block of an unknown type can still go back whole.
//
// Usage is cumulative: a later number replaces an earlier one. Input is reported in three parts,
// which are added up.
class AnthropicStream final : public ResponseStream {
 public:
  explicit AnthropicStream(ModelObserver& observer) : observer_(observer) {}

  [[nodiscard]] Result<void> take(const SseEvent& event) override {
    if (state_.has_ended) return {};
    const bool is_named = !event.name.empty();
    if (is_named && std::ranges::find(known_events, event.name) == known_events.end()) return {};
    std::string room;
    const std::string_view data = wire::as_text(event.data, room);
    const auto json = parse_foreign_json(data);
    if (!json) return not_understood("has an event that is no JSON: " + json.error().message);
    const std::string type = is_named ? std::string(event.name) : text_in(*json, "type");
    return take_known(type, *json, data);
  }

  [[nodiscard]] Result<void> take_whole(const Json& json, std::string_view raw) override {
    const auto blocks = split_array(wire::raw_in(raw, "content"));
    state_.has_begun = blocks && text_in(json, "role") == "assistant";
    if (state_.has_begun) begin_message(json);
    for (std::size_t i = 0; state_.has_begun && i < blocks->size(); ++i) {
      const auto index = static_cast<std::int64_t>(i);
      auto begun = begin_block(index, &(*json.find("content")->as_array())[i], (*blocks)[i]);
      if (!begun) return begun;
      const AnthropicDraft& draft = *draft_at(index);
      if (draft.type == "text") observer_.on_text(draft.text);
      if (draft.type == "thinking") observer_.on_reasoning(draft.text);
      end_block(index);
    }
    if (state_.has_begun) take_end(json, &json);
    if (wire::has_error(json)) return refuse(raw);
    if (state_.has_begun) end();
    return {};
  }

  [[nodiscard]] const StreamState& state() const override { return state_; }

  [[nodiscard]] ModelResponse finish() override {
    response_.message.role = Role::assistant;
    response_.message.is_partial = !state_.has_ended;
    // What was not counted was not free.
    response_.usage.is_known = state_.has_ended && has_input_ && has_output_;
    for (auto& [index, draft] : drafts_) {
      response_.message.blocks.push_back(block_of(std::exchange(draft, {})));
    }
    return std::move(response_);
  }

 private:
  [[nodiscard]] Result<void> take_known(std::string_view type, const Json& json,
                                        std::string_view data) {
    if (type == "error") return refuse(data);
    state_.has_begun = state_.has_begun || type != "ping";
    const std::int64_t index = wire::number_in(json, "index");
    if (type == "message_start") {
      if (const Json* const message = json.find("message")) begin_message(*message);
    }
    if (type == "content_block_start") {
      return begin_block(index, json.find("content_block"), wire::raw_in(data, "content_block"));
    }
    if (type == "content_block_delta") {
      return take_delta(index, json.find("delta"), wire::raw_in(data, "delta"));
    }
    if (type == "content_block_stop") end_block(index);
    if (type == "message_delta") take_end(json, json.find("delta"));
    if (type == "message_stop") end();
    return {};
  }

  void end() { state_.is_whole = state_.has_ended = true; }

  [[nodiscard]] Result<void> refuse(std::string_view raw) {
    state_.was_refused = !state_.has_begun;
    return fail(ErrorCode::unavailable, wire::error_words(raw));
  }

  void begin_message(const Json& message) {
    response_.response_id = text_in(message, "id");
    response_.model = text_in(message, "model");
    take_usage(message);
  }

  [[nodiscard]] Result<void> begin_block(std::int64_t index, const Json* block,
                                         std::string_view raw) {
    const auto members = split_object(raw);
    if (block == nullptr || !members) return not_understood("begins a block that is none");
    if (drafts_.size() >= wire::blocks_max) {
      return fail(ErrorCode::unavailable,
                  fmt::format("the response has more than {} blocks", wire::blocks_max));
    }
    AnthropicDraft draft{.type = text_in(*block, "type")};
    const bool is_call = draft.type == "tool_use";
    const bool is_text = draft.type == "text" || draft.type == "thinking";
    for (const RawMember& member : *members) {
      if (member.key == "type") continue;
      if (is_call && member.key == "id") {
        draft.id = text_in(*block, "id");
      } else if (is_call && member.key == "name") {
        draft.name = text_in(*block, "name");
      } else if (is_text && member.key == draft.type) {
        draft.text = text_in(*block, member.key);
      } else {
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

  /// The last one of the index; null if there is none.
  [[nodiscard]] AnthropicDraft* draft_at(std::int64_t index) {
    const auto [first, end] = drafts_.equal_range(index);
    return first == end ? nullptr : &std::prev(end)->second;
  }

  [[nodiscard]] Result<void> take_delta(std::int64_t index, const Json* delta,
                                        std::string_view raw) {
    AnthropicDraft* const to = draft_at(index);
    if (to == nullptr || delta == nullptr) {
      return not_understood("continues a block that has not begun");
    }
    AnthropicDraft& draft = *to;
    const std::string type = text_in(*delta, "type");
    if (type == "text_delta" && draft.type == "text") {
      const std::string piece = text_in(*delta, "text");
      wire::append(draft.text, piece);
      observer_.on_text(piece);
    } else if (type == "thinking_delta" && draft.type == "thinking") {
      const std::string piece = text_in(*delta, "thinking");
      wire::append(draft.text, piece);
      observer_.on_reasoning(piece);
    } else if (type == "input_json_delta") {
      draft.input += text_in(*delta, "partial_json");
    } else if (type == "citations_delta") {
      add_citation(draft, wire::raw_in(raw, "citation"));
    } else if (const auto members = split_object(raw)) {
      for (const RawMember& member : *members) {
        if (member.key != "type") join_member(draft, member.key, member.value);
      }
    }
    return {};
  }

  void end_block(std::int64_t index) {
    const AnthropicDraft* const draft = draft_at(index);
    if (draft == nullptr || draft->type != "tool_use") return;
    const Block block = block_of(*draft);
    if (const auto* const call = std::get_if<ToolCallBlock>(&block)) observer_.on_call(*call);
  }

  void take_end(const Json& counted, const Json* stopped) {
    take_usage(counted);
    // What the beginning says of the output is not all of it.
    const Json* const usage = counted.find("usage");
    has_output_ = has_output_ || (usage != nullptr && wire::has_count(*usage, "output_tokens"));
    if (stopped == nullptr) return;
    const std::string word = text_in(*stopped, "stop_reason");
    if (word.empty()) return;
    response_.stop = stop_reason_from(word);
    response_.stop_text = word;
    const Json* const details = stopped->find("stop_details");
    if (details == nullptr) return;
    const std::string explanation = text_in(*details, "explanation");
    if (!explanation.empty()) response_.stop_text += ": " + explanation;
  }

  void take_usage(const Json& holder) {
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

  ModelObserver& observer_;
  // By the index the vendor gave. Some servers give one twice: each is a block, in their order.
  std::multimap<std::int64_t, AnthropicDraft> drafts_;
  ModelResponse response_;
  std::int64_t uncached_ = 0;
  bool has_input_ = false;   // Counted by the vendor.
  bool has_output_ = false;  // Counted by the vendor.
  StreamState state_;
};

class AnthropicDialect final : public Dialect {
 public:
  explicit AnthropicDialect(AnthropicOptions options) : options_(std::move(options)) {}

  [[nodiscard]] std::string_view name() const override { return anthropic; }

  [[nodiscard]] Result<std::string> head(const Setup& setup) const override {
    auto parameters = wire::parameters(setup, set_for_anthropic);
    if (!parameters) return forward(parameters);
    if (!wire::parameter(setup, "max_tokens")) {
      const std::string max_tokens =
          "\"max_tokens\":" + std::to_string(options_.http.tokens_out_max);
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

  [[nodiscard]] std::string message(const Message& message, bool is_last) const override {
    std::string blocks;
    for (const Block& each : message.blocks) {
      std::string block = std::visit(AnthropicBlock{}, each);
      if (block.empty()) continue;
      if (is_last && options_.cache_hints && &each == &message.blocks.back() &&
          can_be_marked(each)) {
        block.pop_back();
        block += cache_mark;
      }
      blocks.append(blocks.empty() ? "" : ",").append(block);
    }
    if (blocks.empty()) return {};
    const std::string_view role = message.role == Role::assistant ? "assistant" : "user";
    return fmt::format(R"({{"role":"{}","content":[{}]}})", role, blocks);
  }

  [[nodiscard]] std::int64_t tokens_out_max(const Setup& setup) const override {
    return wire::parameter(setup, "max_tokens").value_or(options_.http.tokens_out_max);
  }

  [[nodiscard]] std::vector<std::pair<std::string, std::string>> headers() const override {
    std::vector<std::pair<std::string, std::string>> headers = options_.http.headers;
    headers.emplace_back("anthropic-version", options_.version);
    if (!options_.http.key.is_none()) headers.emplace_back("x-api-key", options_.http.key.reveal());
    return headers;
  }

  [[nodiscard]] std::unique_ptr<ResponseStream> open(ModelObserver& observer) const override {
    return std::make_unique<AnthropicStream>(observer);
  }

 private:
  AnthropicOptions options_;
};

}  // namespace

std::unique_ptr<const Dialect> anthropic_dialect(AnthropicOptions options) {
  return std::make_unique<AnthropicDialect>(std::move(options));
}

}  // namespace perdure
