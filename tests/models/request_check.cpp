// Strict where the vendors are; a client that passes here has not been flattered.

#include "models/request_check.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "models/model_server.hpp"
#include "models/streams.hpp"
#include "perdure/core/json.hpp"

namespace perdure::models {
namespace {

std::string text_of_member(const Json& json, std::string_view key) {
  const Json* const found = json.find(key);
  return found == nullptr || found->as_string() == nullptr ? std::string() : *found->as_string();
}

// The ids under `key` of all blocks of that type in a message.
std::set<std::string> ids_in(const Json& message, std::string_view type, std::string_view key) {
  std::set<std::string> ids;
  const Json* const content = message.find("content");
  if (content == nullptr || content->as_array() == nullptr) return ids;
  for (const Json& block : *content->as_array()) {
    if (text_of_member(block, "type") == type) ids.insert(text_of_member(block, key));
  }
  return ids;
}

std::optional<std::string> bad_blocks(const Json& message) {
  const Json* const content = message.find("content");
  if (content == nullptr) return "messages: content is missing";
  if (content->is_string()) return std::nullopt;
  if (content->as_array() == nullptr || content->as_array()->empty()) {
    return "messages: content must be a string or blocks";
  }
  for (const Json& block : *content->as_array()) {
    const std::string type = text_of_member(block, "type");
    if (type.empty()) return "messages: a block has no type";
    if (type == "text" && text_of_member(block, "text").empty()) {
      return "messages: text content blocks must be non-empty";
    }
    if (type == "thinking" && text_of_member(block, "signature").empty()) {
      return "messages: thinking needs its signature";
    }
    const Json* const input = block.find("input");
    if (type == "tool_use" && (input == nullptr || !input->is_object())) {
      return "messages: tool_use.input must be an object";
    }
  }
  return std::nullopt;
}

// Whether it has a thought of another voice; null: any thought is.
bool is_foreign_block(const Json& block, const Voice* voice) {
  const std::string type = text_of_member(block, "type");
  if (type == "redacted_thinking") {
    return voice == nullptr || text_of_member(block, "data") != voice->redacted;
  }
  if (type == "thinking") {
    return voice == nullptr || text_of_member(block, "signature") != voice->signature ||
           !text_of_member(block, "thinking").starts_with(voice->thought);
  }
  return type.starts_with("reasoning");
}

bool has_foreign_blocks(const Json& message, const Voice* voice) {
  const Json* const content = message.find("content");
  if (content == nullptr || content->as_array() == nullptr) return false;
  return std::ranges::any_of(*content->as_array(),
                             [&](const Json& block) { return is_foreign_block(block, voice); });
}

// In one format thoughts are blocks of a message, in the other they are its members.
std::optional<std::string> foreign_reasoning(Wire wire, const Json& body,
                                             const Json::Array& messages) {
  const auto voice = voice_of(wire, text_of_member(body, "model"));
  for (const Json& message : messages) {
    const Voice* const own = wire == Wire::anthropic && voice ? &*voice : nullptr;
    if (has_foreign_blocks(message, own)) return "messages: thinking that this model did not do";
    for (const char* const name : {"reasoning_content", "reasoning", "reasoning_details"}) {
      const Json* const thought = message.find(name);
      if (thought == nullptr) continue;
      const bool is_own = wire == Wire::chat && voice && thought->is_string() &&
                          thought->as_string()->starts_with(voice->thought);
      if (!is_own) return std::string("messages: ") + name + " that this model did not say";
    }
  }
  return std::nullopt;
}

std::size_t marks_in(std::string_view text) {
  constexpr std::string_view mark = R"("cache_control":{)";
  std::size_t marks = 0;
  for (auto at = text.find(mark); at != std::string_view::npos; at = text.find(mark, at + 1)) {
    ++marks;
  }
  return marks;
}

std::optional<std::string> bad_anthropic(const Json& body, const Json::Array& messages) {
  const Json* const max_tokens = body.find("max_tokens");
  if (max_tokens == nullptr || !max_tokens->as_int64()) return "max_tokens: Field required";
  if (marks_in(body.text()) > 4) return "A maximum of 4 blocks with cache_control may be provided";
  std::set<std::string> open;
  for (const Json& message : messages) {
    const std::string role = text_of_member(message, "role");
    if (role != "user" && role != "assistant") return "messages: roles are user and assistant";
    if (auto bad = bad_blocks(message)) return bad;
    if (ids_in(message, "tool_result", "tool_use_id") != open) {
      return "messages: tool_use ids were found without tool_result blocks immediately after";
    }
    open = ids_in(message, "tool_use", "id");
  }
  if (!open.empty()) return "messages: tool_use without tool_result";
  return std::nullopt;
}

std::optional<std::string> bad_chat(const Json::Array& messages) {
  std::set<std::string> open;
  for (const Json& message : messages) {
    const std::string role = text_of_member(message, "role");
    if (role == "tool") {
      if (open.erase(text_of_member(message, "tool_call_id")) == 0) {
        return "messages with role 'tool' must follow a message with 'tool_calls'";
      }
      continue;
    }
    constexpr std::array<std::string_view, 4> roles = {"system", "developer", "user", "assistant"};
    if (std::ranges::find(roles, role) == roles.end()) return "messages: no such role: " + role;
    if (!open.empty()) return "tool_call_ids did not have response messages";
    const Json* const calls = message.find("tool_calls");
    if (message.find("content") == nullptr && calls == nullptr) return "content is missing";
    if (calls == nullptr) continue;
    for (const Json& call : *calls->as_array()) {
      open.insert(text_of_member(call, "id"));
      const Json* const function = call.find("function");
      if (function == nullptr || text_of_member(*function, "arguments").empty()) {
        return "tool_calls need a function with arguments";
      }
    }
  }
  if (!open.empty()) return "tool_call_ids did not have response messages";
  return std::nullopt;
}

}  // namespace

std::optional<std::string> refusal_of(const SeenRequest& request) {
  const bool is_chat = request.path.ends_with("/chat/completions");
  const auto body = parse_json(request.body);
  std::optional<std::string> bad;
  const Json* const messages = body ? body->find("messages") : nullptr;
  if (!body) {
    bad = "the body is no JSON: " + body.error().message;
  } else if (text_of_member(*body, "model").empty()) {
    bad = "model: Field required";
  } else if (messages == nullptr || messages->as_array() == nullptr ||
             messages->as_array()->empty()) {
    bad = "messages: at least one is required";
  } else if (!is_chat && !request.headers.contains("anthropic-version")) {
    bad = "anthropic-version: header is required";
  } else {
    const Json::Array& all = *messages->as_array();
    bad = is_chat ? bad_chat(all) : bad_anthropic(*body, all);
    if (!bad) bad = foreign_reasoning(is_chat ? Wire::chat : Wire::anthropic, *body, all);
  }
  if (!bad) return std::nullopt;
  return R"({"type":"error","error":{"type":"invalid_request_error","message":)" +
         Json(*bad).text() + "}}";
}

}  // namespace perdure::models
