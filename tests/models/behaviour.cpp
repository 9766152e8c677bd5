// The table of model_server.hpp, made of the two streams.

#include "models/behaviour.hpp"

#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "models/model_server.hpp"
#include "models/streams.hpp"
#include "perdure/core/json.hpp"

namespace perdure::models {
namespace {

// `/cut-400/v1/messages` is "cut", 400, and not chat.
struct Asked {
  std::string name;
  std::size_t number = 0;
  bool is_chat = false;
};

Asked asked_of(std::string_view path) {
  Asked asked;
  asked.is_chat = path.ends_with("/chat/completions");
  const std::string_view first = path.substr(1, path.find('/', 1) - 1);
  const auto dash = first.find('-');
  asked.name = first.substr(0, dash);
  if (dash != std::string_view::npos) {
    std::from_chars(first.data() + dash + 1, first.data() + first.size(), asked.number);
  }
  return asked;
}

std::string error_json(bool is_chat, const std::string& type, const std::string& message) {
  const std::string error = R"({"type":")" + type + R"(","message":)" + Json(message).text() + "}";
  return is_chat ? R"({"error":)" + error + "}" : R"({"type":"error","error":)" + error + "}";
}

std::string error_event(bool is_chat) {
  const std::string json = error_json(is_chat, "overloaded_error", "Overloaded");
  return (is_chat ? "data: " : "event: error\ndata: ") + json + "\n\n";
}

std::string ping(bool is_chat) {
  return is_chat ? std::string(": keep-alive\n\n")
                 : std::string(": keep-alive\n\nevent: ping\ndata: {\"type\": \"ping\"}\n\n");
}

std::string stranger(bool is_chat) {
  if (is_chat) {
    return R"(data: {"id":"chatcmpl-7","object":"chat.completion.chunk","created":1,"model":"local-1","choices":[],"new":{"a":[1]}})"
           "\n\n";
  }
  return "event: content_block_news\nid: 7\nretry: 3\ndata: "
         "{\"type\":\"content_block_news\",\"x\":1}\n\n";
}

std::string joined_events(const std::vector<std::string>& events, const std::string& between = "") {
  std::string body;
  for (const std::string& event : events) body += between + event;
  return body;
}

Behaviour refusing(int status, const std::string& body, const std::string& headers = "") {
  return {.status = status, .headers = headers, .body = body};
}

// Closed after so many bytes.
Behaviour cut(Behaviour whole, std::size_t bytes, bool is_chunked) {
  whole.body.resize(bytes < whole.body.size() ? bytes : whole.body.size());
  whole.has_end = false;
  whole.is_chunked = is_chunked;
  return whole;
}

std::string huge_event() {
  std::string event = "data: ";
  event.resize(11'000'000, 'x');
  return event + "\n\n";
}

std::string text_only(bool is_chat) {
  if (is_chat) {
    return R"(data: {"id":"chatcmpl-8","object":"chat.completion.chunk","created":1,"model":"local-1","choices":[{"index":0,"delta":{"role":"assistant","content":"Done."},"finish_reason":null}]})"
           "\n\n"
           R"(data: {"id":"chatcmpl-8","object":"chat.completion.chunk","created":1,"model":"local-1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]})"
           "\n\n"
           R"(data: {"id":"chatcmpl-8","object":"chat.completion.chunk","created":1,"model":"local-1","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2,"total_tokens":11}})"
           "\n\ndata: [DONE]\n\n";
  }
  return "event: message_start\ndata: "
         R"({"type":"message_start","message":{"id":"msg_02","type":"message","role":"assistant","model":"claude-test-1","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":9,"output_tokens":1}}})"
         "\n\nevent: content_block_start\ndata: "
         R"({"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}})"
         "\n\nevent: content_block_delta\ndata: "
         R"({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Done."}})"
         "\n\nevent: content_block_stop\ndata: "
         R"({"type":"content_block_stop","index":0})"
         "\n\nevent: message_delta\ndata: "
         R"({"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":2}})"
         "\n\nevent: message_stop\ndata: "
         R"({"type":"message_stop"})"
         "\n\n";
}

// A text that stops for that reason, in the vendor's word.
std::string stopped_text(const Asked& asked) {
  std::string body = text_only(asked.is_chat);
  const std::string_view usual = asked.is_chat ? R"("stop")" : R"("end_turn")";
  std::string word = asked.is_chat ? R"("length")" : R"("max_tokens")";
  if (asked.name == "refusal") {
    word = asked.is_chat ? R"("content_filter")"
                         : R"("refusal","stop_details":{"type":"refusal","category":"x",)"
                           R"("explanation":"Not this."})";
  }
  if (asked.name == "pause") word = R"("pause_turn")";
  return body.replace(body.find(usual), usual.size(), word);
}

Behaviour failing(const Asked& asked, const SeenRequest& request) {
  std::string key;
  for (const char* const name : {"x-api-key", "authorization"}) {
    if (const auto found = request.headers.find(name); found != request.headers.end()) {
      key = found->second;
    }
  }
  return refusing(static_cast<int>(asked.number),
                  error_json(asked.is_chat, "some_error", "no, not with key " + key));
}

// A whole response as one object, and what servers call it.
Behaviour object(const Asked& asked, Behaviour answer) {
  answer.body = asked.is_chat ? chat_object() : anthropic_object();
  answer.type = "application/json";
  if (asked.name == "objecterror") {
    const std::string_view none = R"("error":null)";
    answer.body.replace(answer.body.find(none), none.size(),
                        R"("error":{"message":"out of memory"})");
    return answer;
  }
  if (asked.name == "objectother") answer.body = asked.is_chat ? anthropic_object() : chat_object();
  if (asked.name == "objectcut") return cut(answer, asked.number, false);
  answer.has_length = asked.name == "objectshort" || asked.number == 1;
  if (asked.name == "objectshort") {
    answer.bytes_max = asked.number;
    return answer;
  }
  if (asked.number == 1) answer.type = "application/json; charset=utf-8";
  if (asked.number == 2) {
    answer.type = "APPLICATION/JSON";
    answer.is_chunked = false;
  }
  if (asked.number == 3) answer.type.clear();
  if (asked.number == 4) answer.type = "text/event-stream";
  if (asked.number == 5) {
    answer.body.insert(0, "\xEF\xBB\xBF \r\n\t");
    answer.piece_bytes = 1;
  }
  return answer;
}

std::string times(std::size_t count, const std::string& text) {
  std::string all;
  while (count-- > 0) all += text;
  return all;
}

// What does not end, by its name; the first event of a stream comes before it. Empty: it is none.
std::string endless(const Asked& asked) {
  const std::string chat = R"(data: {"id":"c","model":"m","choices":[{"index":0,"delta":{)";
  const std::string delta =
      "event: content_block_delta\ndata: "
      R"({"type":"content_block_delta","index":0,"delta":{"type":)";
  if (asked.name == "text") {
    const std::string words = R"("on and on"}})"
                              "\n\n";
    return times(500, asked.is_chat ? chat + R"("content":"on and on"}}]})"
                                             "\n\n"
                                    : delta + R"("text_delta","text":)" + words);
  }
  if (asked.name == "joins") {
    return times(500, asked.is_chat ? chat + R"("reasoning_details":[{"text":"hm"}]}}]})"
                                             "\n\n"
                                    : delta + R"("signature_delta","signature":"ab\ncd"}})"
                                              "\n\n");
  }
  // The same in large pieces, which are most of what comes.
  if (asked.name == "texts" || asked.name == "details") {
    const std::string piece(100'000, 'x');
    if (asked.name == "texts" && asked.is_chat)
      return chat + R"("content":")" + piece + "\"}}]}\n\n";
    if (asked.is_chat) {
      return chat + R"("reasoning_details":[{"text":")" + piece + "\"}]}}]}\n\n";
    }
    const bool is_text = asked.name == "texts";
    return delta + (is_text ? R"("text_delta","text":")" : R"("signature_delta","signature":")") +
           piece + "\"}}\n\n";
  }
  if (asked.name == "calls") {
    return times(500, asked.is_chat
                          ? chat + R"("tool_calls":[{"function":{"name":"f"}},{"function":)"
                                   R"({"name":"g"}}]}}]})"
                                   "\n\n"
                          : "event: content_block_start\ndata: "
                            R"({"type":"content_block_start","index":1,"content_block":)"
                            R"({"type":"tool_use","id":"","name":"f","input":{}}})"
                            "\n\n");
  }
  if (asked.name == "comments") return times(2000, ": ping\n\n");
  if (asked.name == "line" || asked.name == "string") return std::string(30'000, 'x');
  if (asked.name == "values") return times(10'000, "[0],");
  if (asked.name == "headers") return times(500, "X-More: and more\r\n");
  if (asked.name == "refusal400") return std::string(30'000, 'x');
  return {};
}

Behaviour without_end(const Asked& asked, Behaviour answer) {
  answer.repeated = endless(asked);
  answer.body.clear();
  if (!asked.is_chat) {
    answer.body = anthropic_events(0).front() +
                  "event: content_block_start\ndata: "
                  R"({"type":"content_block_start","index":0,"content_block":)"
                  R"({"type":"text","text":""}})"
                  "\n\n";
  }
  if (asked.name == "line") answer.body += "data: ";
  if (asked.name == "string") {
    answer.body = asked.is_chat ? R"({"choices":[{"message":{"content":")"
                                : R"({"role":"assistant","content":[{"type":"text","text":")";
  }
  if (asked.name == "values") answer.body = R"({"choices":[)";
  if (asked.name == "headers") answer.status = 201;
  if (asked.name == "refusal400") {
    answer.status = 400;
    answer.headers = "Connection: close\r\n\r\nno, and no, and ";
  }
  return answer;
}

// A stream that is not as it should be.
Behaviour odd(const Asked& asked, const std::vector<std::string>& events, Behaviour answer) {
  const std::size_t half = events.size() / 2;
  if (asked.name == "pings") answer.body = joined_events(events, ping(asked.is_chat));
  if (asked.name == "unknown") answer.body = joined_events(events, stranger(asked.is_chat));
  if (asked.name == "error") {
    answer.body = joined_events({events.begin(), events.begin() + static_cast<long>(half)}) +
                  error_event(asked.is_chat);
  }
  if (asked.name == "eof") answer.body = joined_events({events.begin(), events.end() - 1});
  if (asked.name == "huge") answer.body = huge_event();
  if (asked.name == "page") {
    answer.type = "text/html; charset=utf-8";
    answer.body = "<html>Welcome</html>";
  }
  if (asked.name == "apology") {
    answer.type = "application/json";
    answer.body = R"({"error": {"message": "all desks are taken"}})";
  }
  if (asked.name == "length" || asked.name == "refusal" || asked.name == "pause") {
    answer.body = stopped_text(asked);
  }
  if (asked.name == "final") answer.body = text_only(asked.is_chat);
  if (asked.name == "nodone") answer.body = joined_events({events.begin(), events.end() - 1});
  if (asked.name == "packed") answer.headers = "Content-Encoding: gzip\r\n";
  if (asked.name == "packed") answer.body = "\x1F\x8B nothing that anybody can read";
  if (asked.name == "nousage") {
    answer.body = joined_events({events.begin(), events.end() - 2}) + events.back();
  }
  return answer;
}

}  // namespace

Behaviour behaviour_of(const SeenRequest& request, int count) {
  const Asked asked = asked_of(request.path);
  const bool is_early = static_cast<std::size_t>(count) <= asked.number;
  if (asked.name == "silent") return {.is_silent = true};
  if (asked.name == "drop" || (asked.name == "tired" && !is_early)) return {.is_dropped = true};
  if (asked.name == "status") return failing(asked, request);
  if (asked.name == "busy" && is_early) {
    return refusing(429, error_json(asked.is_chat, "rate_limit_error", "slow down"),
                    "retry-after: 0\r\n");
  }
  if (asked.name == "later" && is_early) {
    return refusing(429, error_json(asked.is_chat, "rate_limit_error", "slow down"),
                    "retry-after: 7\r\n");
  }
  if (asked.name == "refused" && is_early) return {.body = error_event(asked.is_chat)};
  if (asked.name == "overloaded" && is_early) {
    return refusing(529, error_json(asked.is_chat, "overloaded_error", "Overloaded"));
  }
  const std::size_t text = asked.name == "large" ? asked.number * 1000 : text_bytes_default;
  const auto events = asked.is_chat ? chat_events(text) : anthropic_events(text);
  Behaviour answer;
  answer.body = joined_events(events);
  if (asked.name == "cut") return cut(answer, asked.number, false);
  if (asked.name == "chunkcut") return cut(answer, asked.number, true);
  if (asked.name == "pieces") answer.piece_bytes = asked.number;
  if (asked.name == "linger") answer.is_left_open = true;
  if (asked.name == "stall") {
    answer.body.resize(asked.number);
    answer.is_left_open = true;
  }
  if (asked.name.starts_with("object")) return object(asked, answer);
  if (!endless(asked).empty()) return without_end(asked, answer);
  return odd(asked, events, answer);
}

}  // namespace perdure::models
