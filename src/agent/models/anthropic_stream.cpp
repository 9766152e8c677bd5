// Usage is cumulative: a later number replaces an earlier one. Input is told in three parts, which
// are added up.

#include "models/anthropic_stream.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <fmt/format.h>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "models/sse.hpp"
#include "models/wire.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/json_text.hpp"
#include "perdure/core/raw_json.hpp"
#include "perdure/runtime/conversation.hpp"

namespace perdure {
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
