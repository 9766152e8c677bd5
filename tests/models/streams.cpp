// Written out by hand, event by event, as the vendors' documents show them; not by our own writers.

#include "models/streams.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "perdure/agent/provider.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/state.hpp"

namespace perdure::models {
namespace {

constexpr std::string_view thought = "Zuerst prüfe ich die Lage — dann 東京 🌍. ";
constexpr std::string_view chat_thought = "Zuerst prüfe ich den Plan — dann 東京 🌍. ";
constexpr std::string_view signature = "EqQBCkYIBxgCKkC/x+Zt8w==0123456789abcdef/ÄÖ";
constexpr std::string_view redacted = "b3Bh/cXVl==";
constexpr std::string_view args_one = R"({"path": "src/ä.txt",  "limit": 1.0})";
constexpr std::string_view args_two = R"({"city":"Tōkyō \ud83d\ude00","n":12345678901234567890})";

std::vector<std::string> pieces_of(std::size_t bytes) {
  std::vector<std::string> pieces;
  std::size_t size = 0;
  for (int i = 0; size < bytes; ++i) {
    pieces.push_back("Satz " + std::to_string(i) +
                     ": \"größer\" \\ 🌍\n and so on, and so forth, "
                     "until the piece is long enough to be cut in the middle of its text. ");
    size += pieces.back().size();
  }
  return pieces;
}

std::string joined(const std::vector<std::string>& pieces) {
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  return text;
}

// Of about 15 bytes, never on a boundary that means something, never inside a character.
std::vector<std::string_view> slices_of(std::string_view text) {
  std::vector<std::string_view> slices;
  while (!text.empty()) {
    std::size_t size = std::min<std::size_t>(15, text.size());
    while (size < text.size() && (static_cast<unsigned char>(text[size]) & 0xC0U) == 0x80U) ++size;
    slices.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return slices;
}

std::string named(std::string_view name, const std::string& data) {
  return "event: " + std::string(name) + "\ndata: " + data + "\n\n";
}

std::string quote(std::string_view text) { return Json(text).text(); }

std::string block_start(int index, const std::string& block) {
  return named("content_block_start", R"({"type":"content_block_start","index":)" +
                                          std::to_string(index) + R"(,"content_block":)" + block +
                                          "}");
}

std::string delta(int index, std::string_view type, std::string_view key, std::string_view value) {
  return named("content_block_delta", R"({"type":"content_block_delta","index":)" +
                                          std::to_string(index) + R"(,"delta":{"type":")" +
                                          std::string(type) + R"(",")" + std::string(key) +
                                          "\":" + quote(value) + "}}");
}

std::string block_stop(int index) {
  return named("content_block_stop",
               R"({"type":"content_block_stop","index":)" + std::to_string(index) + "}");
}

void add_call(std::vector<std::string>& events, int index, const std::string& start,
              std::string_view args) {
  events.push_back(block_start(index, start));
  for (const std::string_view slice : slices_of(args)) {
    events.push_back(delta(index, "input_json_delta", "partial_json", slice));
  }
  events.push_back(block_stop(index));
}

std::string chunk(const std::string& choices, const std::string& more = "") {
  return R"(data: {"id":"chatcmpl-7","object":"chat.completion.chunk","created":1,"model":"local-1","choices":[)" +
         choices + "]" + more + "}\n\n";
}

std::string chat_delta(const std::string& members, const std::string& finish = "null") {
  return chunk(R"({"index":0,"delta":{)" + members + R"(},"finish_reason":)" + finish + "}");
}

void add_chat_call(std::vector<std::string>& events, const std::string& head, int index,
                   std::string_view args) {
  const std::string place = R"("tool_calls":[{"index":)" + std::to_string(index);
  events.push_back(chat_delta(place + "," + head + "}]"));
  for (const std::string_view slice : slices_of(args)) {
    events.push_back(chat_delta(place + R"(,"function":{"arguments":)" + quote(slice) + "}}]"));
  }
}

RawJson raw(std::string text) { return RawJson::from_text(std::move(text)).value(); }

ToolCallBlock call(std::string id, std::string name, std::string_view args) {
  return {.id = std::move(id), .name = std::move(name), .args = std::string(args)};
}

}  // namespace

std::optional<Voice> voice_of(Wire wire, std::string_view model) {
  if (model.starts_with("other")) return std::nullopt;
  return Voice{.thought = wire == Wire::chat ? chat_thought : thought,
               .signature = signature,
               .redacted = redacted};
}

std::vector<std::string> anthropic_events(std::size_t text_bytes) {
  std::vector<std::string> events;
  events.push_back(named(
      "message_start",
      R"({"type":"message_start","message":{"id":"msg_01","type":"message","role":"assistant",)"
      R"("model":"claude-test-1","content":[],"stop_reason":null,"stop_sequence":null,"usage":)"
      R"({"input_tokens":20,"cache_creation_input_tokens":300,"cache_read_input_tokens":4000,)"
      R"("output_tokens":1}}})"));
  events.push_back(block_start(0, R"({"type":"thinking","thinking":"","signature":""})"));
  for (int i = 0; i < 3; ++i) events.push_back(delta(0, "thinking_delta", "thinking", thought));
  events.push_back(delta(0, "signature_delta", "signature", signature));
  events.push_back(block_stop(0));
  events.push_back(block_start(1, R"({"type":"redacted_thinking","data":"b3Bh\/cXVl=="})"));
  events.push_back(block_stop(1));
  events.push_back(block_start(2, R"({"type":"text","text":""})"));
  for (const std::string& piece : pieces_of(text_bytes)) {
    events.push_back(delta(2, "text_delta", "text", piece));
  }
  events.push_back(block_stop(2));
  add_call(events, 3, R"({"type":"tool_use","id":"toolu_01","name":"read","input":{}})", args_one);
  add_call(
      events, 4,
      R"({"type":"tool_use","id":"toolu_02","name":"weather","input":{},"caller":{"type":"direct"}})",
      args_two);
  events.push_back(named("message_delta",
                         R"({"type":"message_delta","delta":{"stop_reason":"tool_use",)"
                         R"("stop_sequence":null},"usage":{"output_tokens":577}})"));
  events.push_back(named("message_stop", R"({"type":"message_stop"})"));
  return events;
}

std::string anthropic_object(std::size_t text_bytes) {
  return R"({"id":"msg_01","type":"message","role":"assistant","model":"claude-test-1","content":[)"
         R"({"type":"thinking","thinking":)" +
         quote(joined({3, std::string(thought)})) + R"(,"signature":)" + quote(signature) +
         R"(},{"type":"redacted_thinking","data":"b3Bh\/cXVl=="},{"type":"text","text":)" +
         quote(joined(pieces_of(text_bytes))) +
         R"(},{"type":"tool_use","id":"toolu_01","name":"read","input":)" + std::string(args_one) +
         R"(},{"type":"tool_use","id":"toolu_02","name":"weather","input":)" +
         std::string(args_two) +
         R"(,"caller":{"type":"direct"}}],"stop_reason":"tool_use","stop_sequence":null,)"
         R"("usage":{"input_tokens":20,"cache_creation_input_tokens":300,)"
         R"("cache_read_input_tokens":4000,"output_tokens":577}})";
}

ModelResponse anthropic_response(std::size_t text_bytes) {
  ModelResponse response;
  Message& message = response.message;
  message.role = Role::assistant;
  const std::string three(joined({3, std::string(thought)}));
  message.blocks.emplace_back(ReasoningBlock{
      .text = three,
      .metadata =
          raw(R"({"anthropic":{"type":"thinking","signature":)" + quote(signature) + "}}")});
  message.blocks.emplace_back(ReasoningBlock{
      .metadata = raw(R"({"anthropic":{"type":"redacted_thinking","data":"b3Bh\/cXVl=="}})")});
  message.blocks.emplace_back(TextBlock{.text = joined(pieces_of(text_bytes))});
  message.blocks.emplace_back(call("toolu_01", "read", args_one));
  message.blocks.emplace_back(call("toolu_02", "weather", args_two));
  std::get<ToolCallBlock>(message.blocks.back()).unknown = {
      {"anthropic", raw(R"({"caller":{"type":"direct"}})")}};
  response.stop = StopReason::calls;
  response.stop_text = "tool_use";
  response.usage = {.is_known = true,
                    .tokens_in = 4320,
                    .tokens_out = 577,
                    .cache_read = 4000,
                    .cache_write = 300};
  response.model = "claude-test-1";
  response.response_id = "msg_01";
  return response;
}

std::vector<std::string> chat_events(std::size_t text_bytes) {
  std::vector<std::string> events;
  events.push_back(chat_delta(R"("role":"assistant","content":null)"));
  for (int i = 0; i < 3; ++i) {
    events.push_back(chat_delta(R"("reasoning_content":)" + quote(chat_thought)));
  }
  for (const std::string& piece : pieces_of(text_bytes)) {
    events.push_back(chat_delta(R"("content":)" + quote(piece)));
  }
  add_chat_call(events,
                R"("id":"call_a","type":"function","function":{"name":"read","arguments":""})", 0,
                args_one);
  add_chat_call(events,
                R"("id":"call_b","type":"function","function":{"name":"weather","arguments":""})",
                1, args_two);
  events.push_back(chat_delta("", R"("tool_calls")"));
  events.push_back(
      chunk("", R"(,"usage":{"prompt_tokens":4320,"completion_tokens":577,"total_tokens":4897,)"
                R"("prompt_tokens_details":{"cached_tokens":4000},)"
                R"("completion_tokens_details":{"reasoning_tokens":64}})"));
  events.emplace_back("data: [DONE]\n\n");
  return events;
}

std::string chat_object(std::size_t text_bytes) {
  const auto call_text = [](std::string_view id, std::string_view name, std::string_view args) {
    return R"({"id":)" + quote(id) + R"(,"type":"function","function":{"name":)" + quote(name) +
           R"(,"arguments":)" + quote(args) + "}}";
  };
  return R"({"id":"chatcmpl-7","object":"chat.completion","created":1,"model":"local-1",)"
         R"("error":null,"choices":[{"index":0,"message":{"role":"assistant","reasoning_content":)" +
         quote(joined({3, std::string(chat_thought)})) + R"(,"content":)" +
         quote(joined(pieces_of(text_bytes))) + R"(,"tool_calls":[)" +
         call_text("call_a", "read", args_one) + "," + call_text("call_b", "weather", args_two) +
         R"(]},"logprobs":null,"finish_reason":"tool_calls"}],)"
         R"("usage":{"prompt_tokens":4320,"completion_tokens":577,"total_tokens":4897,)"
         R"("prompt_tokens_details":{"cached_tokens":4000},)"
         R"("completion_tokens_details":{"reasoning_tokens":64}}})";
}

ModelResponse chat_response(std::size_t text_bytes) {
  ModelResponse response;
  Message& message = response.message;
  message.role = Role::assistant;
  message.blocks.emplace_back(
      ReasoningBlock{.text = joined({3, std::string(chat_thought)}),
                     .metadata = raw(R"({"chat":{"field":"reasoning_content"}})")});
  message.blocks.emplace_back(TextBlock{.text = joined(pieces_of(text_bytes))});
  message.blocks.emplace_back(call("call_a", "read", args_one));
  message.blocks.emplace_back(call("call_b", "weather", args_two));
  response.stop = StopReason::calls;
  response.stop_text = "tool_calls";
  response.usage = {
      .is_known = true, .tokens_in = 4320, .tokens_out = 577, .cache_read = 4000, .reasoning = 64};
  response.model = "local-1";
  response.response_id = "chatcmpl-7";
  return response;
}

}  // namespace perdure::models
