// One choice is asked for, so there is one; a second would be another answer, and is passed over.

#include "models/chat_stream.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/sse.hpp"
#include "models/wire.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/raw_json.hpp"
#include "perdure/runtime/message.hpp"

namespace perdure {
namespace {

std::vector<std::string_view> raw_elements(std::string_view array) {
  auto elements = split_array(array);
  return elements ? *std::move(elements) : std::vector<std::string_view>();
}

RawJson chats_own(std::string members) {
  auto raw = RawJson::from_text("{" + std::move(members) + "}");
  return raw ? *std::move(raw) : RawJson::from_value(Json::Object{});
}

}  // namespace

Result<void> ChatStream::take(const SseEvent& event) {
  if (has_ended_) return {};
  if (event.data == "[DONE]") {
    has_ended_ = true;
    return {};
  }
  std::string room;
  return take_chunk(wire::as_text(event.data, room));
}

Result<void> ChatStream::take_chunk(std::string_view data) {
  const auto json = parse_json(data);
  if (!json) {
    return fail(ErrorCode::unavailable,
                "the response's stream has an event that is no JSON: " + json.error().message);
  }
  if (const Json* const error = json->find("error"); error != nullptr && !error->is_null()) {
    was_refused_ = !has_begun_;
    return fail(ErrorCode::unavailable, wire::error_words(data));
  }
  has_begun_ = true;
  if (response_.response_id.empty()) response_.response_id = wire::text_in(*json, "id");
  if (response_.model.empty()) response_.model = wire::text_in(*json, "model");
  if (const Json* const usage = json->find("usage"); usage != nullptr && usage->is_object()) {
    take_usage(*usage);
  }
  const Json* const choices = json->find("choices");
  if (choices == nullptr || choices->as_array() == nullptr || choices->as_array()->empty())
    return {};
  const auto raw = raw_elements(wire::raw_in(data, "choices"));
  if (!raw.empty()) take_choice(choices->as_array()->front(), raw.front());
  return {};
}

void ChatStream::take_choice(const Json& choice, std::string_view raw) {
  if (wire::number_in(choice, "index") != 0) return;
  if (const Json* const delta = choice.find("delta"))
    take_delta(*delta, wire::raw_in(raw, "delta"));
  const std::string word = wire::text_in(choice, "finish_reason");
  if (!word.empty()) finish_word_ = word;
}

void ChatStream::take_delta(const Json& delta, std::string_view raw) {
  take_reasoning(delta, raw);
  const std::string piece = wire::text_in(delta, "content");
  wire::append(text_, piece);
  if (!piece.empty()) observer_.on_text(piece);
  const std::string refused = wire::text_in(delta, "refusal");
  wire::append(refusal_, refused);
  if (!refused.empty()) observer_.on_text(refused);
  const Json* const calls = delta.find("tool_calls");
  if (calls == nullptr || calls->as_array() == nullptr) return;
  const auto raws = raw_elements(wire::raw_in(raw, "tool_calls"));
  for (std::size_t i = 0; i < raws.size(); ++i) take_call((*calls->as_array())[i], raws[i], i);
}

void ChatStream::take_reasoning(const Json& delta, std::string_view raw) {
  for (const std::string_view field : {"reasoning_content", "reasoning"}) {
    const std::string piece = wire::text_in(delta, field);
    if (piece.empty()) continue;
    if (reasoning_field_.empty()) reasoning_field_ = field;
    // A server that says the same in two fields says it once.
    if (reasoning_field_ != field) continue;
    wire::append(reasoning_, piece);
    observer_.on_reasoning(piece);
  }
  for (const std::string_view element : raw_elements(wire::raw_in(raw, "reasoning_details"))) {
    if (!reasoning_details_.empty()) reasoning_details_ += ',';
    reasoning_details_ += element;
  }
}

// By its index, unless another call has it: some servers say 0 of each. Without one, a new id is a new call, and what has no id goes on with the last. A list
// of calls that have neither is one of whole calls.
ChatStream::DraftCall& ChatStream::draft_for(const Json& call, std::size_t place) {
  const Json* const index = call.find("index");
  const std::string id = wire::text_in(call, "id");
  const auto next = calls_.empty() ? 0 : calls_.rbegin()->first + 1;
  if (index != nullptr && index->is_number()) {
    std::int64_t& at =
        places_.try_emplace(wire::number_in(call, "index"), wire::number_in(call, "index"))
            .first->second;
    const auto found = calls_.find(at);
    const bool is_another =
        found != calls_.end() && !id.empty() && !found->second.id.empty() && found->second.id != id;
    if (is_another) at = next;
    return calls_[at];
  }
  const bool goes_on =
      !calls_.empty() && place == 0 && (id.empty() || id == calls_.rbegin()->second.id);
  return goes_on ? calls_.rbegin()->second : calls_[next];
}

void ChatStream::take_call(const Json& call, std::string_view raw, std::size_t place) {
  DraftCall& draft = draft_for(call, place);
  if (draft.id.empty()) draft.id = wire::text_in(call, "id");
  if (const Json* const function = call.find("function")) {
    if (draft.name.empty()) draft.name = wire::text_in(*function, "name");
    const Json* const args = function->find("arguments");
    // Some servers give the object itself instead of its text.
    if (args != nullptr && args->is_object()) {
      draft.args = wire::raw_in(wire::raw_in(raw, "function"), "arguments");
    } else {
      wire::append(draft.args, wire::text_in(*function, "arguments"));
    }
  }
  const auto members = split_object(raw);
  if (!members) return;
  constexpr std::array<std::string_view, 4> known = {"index", "id", "type", "function"};
  for (const RawMember& member : *members) {
    if (std::ranges::find(known, member.key) != known.end() || member.value == "null") continue;
    if (!draft.own.empty()) draft.own += ',';
    draft.own += wire::quoted(member.key) + ":" + std::string(member.value);
  }
}

void ChatStream::take_usage(const Json& usage) {
  ModelUsage& total = response_.usage;
  // What was not counted was not free.
  total.is_known =
      wire::has_count(usage, "prompt_tokens") && wire::has_count(usage, "completion_tokens");
  total.tokens_in = wire::number_in(usage, "prompt_tokens");
  total.tokens_out = wire::number_in(usage, "completion_tokens");
  total.cache_read = wire::number_in(usage, "prompt_cache_hit_tokens");
  if (const Json* const details = usage.find("prompt_tokens_details")) {
    total.cache_read = std::max(total.cache_read, wire::number_in(*details, "cached_tokens"));
    total.cache_write = wire::number_in(*details, "cache_write_tokens");
  }
  if (const Json* const details = usage.find("completion_tokens_details")) {
    total.reasoning = wire::number_in(*details, "reasoning_tokens");
  }
}

void ChatStream::add_reasoning() {
  if (reasoning_.empty() && reasoning_details_.empty()) return;
  std::string own;
  if (!reasoning_field_.empty()) own = "\"field\":" + wire::quoted(reasoning_field_);
  if (!reasoning_details_.empty()) {
    if (!own.empty()) own += ',';
    own += "\"reasoning_details\":[" + reasoning_details_ + "]";
  }
  ObjectWriter metadata;
  metadata.add_raw("chat", chats_own(std::move(own)).text());
  auto raw = RawJson::from_text(metadata.finish());
  response_.message.blocks.emplace_back(
      ReasoningBlock{.text = reasoning_, .metadata = raw ? *std::move(raw) : RawJson()});
}

void ChatStream::add_calls() {
  for (const auto& [index, draft] : calls_) {
    ToolCallBlock call{.id = draft.id, .name = draft.name, .args = draft.args};
    if (call.id.empty()) call.id = "call_" + std::to_string(index);
    if (call.args.empty()) call.args = "{}";
    if (!draft.own.empty()) call.unknown = {{"chat", chats_own(draft.own)}};
    if (is_whole()) observer_.on_call(call);
    response_.message.blocks.emplace_back(std::move(call));
  }
}

StopReason ChatStream::stop_reason() const {
  if (!refusal_.empty() || finish_word_ == "content_filter") return StopReason::refusal;
  if (finish_word_ == "length") return StopReason::length;
  // Some servers say "stop" after calls, too.
  if (!calls_.empty()) return StopReason::calls;
  return finish_word_ == "stop" || finish_word_.empty() ? StopReason::end : StopReason::other;
}

ModelResponse ChatStream::finish() {
  response_.message.role = Role::assistant;
  response_.message.is_partial = !is_whole();
  // Some servers count as they go.
  response_.usage.is_known = response_.usage.is_known && is_whole();
  add_reasoning();
  if (!text_.empty()) response_.message.blocks.emplace_back(TextBlock{.text = text_});
  if (!refusal_.empty()) {
    response_.message.blocks.emplace_back(
        TextBlock{.text = refusal_, .unknown = {{"chat", chats_own(R"("refusal":true)")}}});
  }
  add_calls();
  response_.stop = stop_reason();
  response_.stop_text = refusal_.empty() ? finish_word_ : finish_word_ + ": " + refusal_;
  return std::move(response_);
}

}  // namespace perdure
