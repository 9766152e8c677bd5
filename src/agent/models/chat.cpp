// OpenAI Chat Completions, and what compatible servers make of it: how a conversation is written,
// and how a response is read.
//
// A message of the assistant is one element: its texts joined, its calls in a list. Results of
// calls are messages of their own here, so one of ours may become several. Reasoning goes back in
// the field in which it came, and only to a server that speaks this format.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <memory>
#include <optional>
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
  ObjectWriter function;
  function.add("name", wire::tool_name(call.name));
  function.add("arguments", wire::call_args(call.args));
  ObjectWriter writer;
  writer.add("id", wire::call_id(call.id));
  writer.add("type", "function");
  writer.add_raw("function", function.finish());
  return wire::with_members(writer.finish(), wire::vendors_own(call.unknown, chat));
}

// What an assistant's message is made of here.
struct AssistantParts {
  std::string text;
  std::string refusal;
  std::string calls;
  ObjectWriter reasoning;

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
  ObjectWriter writer;
  writer.add("role", "tool");
  writer.add("tool_call_id", wire::call_id(result.call_id));
  writer.add("content", result.content);
  return writer.finish();
}

std::string said(std::string_view role, std::string_view text) {
  ObjectWriter writer;
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

std::vector<std::string_view> raw_elements(std::string_view array) {
  auto elements = split_array(array);
  return elements ? *std::move(elements) : std::vector<std::string_view>();
}

RawJson chats_own(std::string members) {
  std::string object;
  object.reserve(members.size() + 2);
  object.append("{").append(std::exchange(members, {})).append("}");
  auto raw = RawJson::from_text(std::move(object));
  return raw ? *std::move(raw) : RawJson::from_value(Json::Object{});
}

// A reason to finish says that the answer is whole; tokens are counted after it, by servers that
// count. Calls come in pieces, joined by their index, or by their id where they have none; ids may
// be missing too, and a call may come at once. Reasoning comes in fields that no specification has:
// reasoning_content, reasoning, and reasoning_details, a list that its server must get back as it
// was.
class ChatStream final : public ResponseStream {
 public:
  explicit ChatStream(ModelObserver& observer) : observer_(observer) {}

  [[nodiscard]] Result<void> take(const SseEvent& event) override {
    if (state_.has_ended) return {};
    if (event.data == "[DONE]") {
      end();
      return {};
    }
    std::string room;
    return take_chunk(wire::as_text(event.data, room));
  }

  [[nodiscard]] Result<void> take_whole(const Json& json, std::string_view raw) override {
    const Json* const choices = json.find("choices");
    const Json::Array* const list = choices != nullptr ? choices->as_array() : nullptr;
    const bool is_response =
        list != nullptr && !list->empty() && list->front().find("message") != nullptr;
    if (is_response) {
      if (auto taken = take_object(json, raw, "message"); !taken) return taken;
    }
    if (wire::has_error(json)) return refuse(raw);
    if (is_response) end();
    return {};
  }

  [[nodiscard]] const StreamState& state() const override { return state_; }

  [[nodiscard]] ModelResponse finish() override {
    response_.message.role = Role::assistant;
    response_.message.is_partial = !state_.is_whole;
    // Some servers count as they go.
    response_.usage.is_known = response_.usage.is_known && state_.is_whole;
    add_reasoning();
    if (!text_.empty()) response_.message.blocks.emplace_back(TextBlock{.text = std::move(text_)});
    if (!refusal_.empty()) {
      response_.message.blocks.emplace_back(
          TextBlock{.text = refusal_, .unknown = {{"chat", chats_own(R"("refusal":true)")}}});
    }
    add_calls();
    response_.stop = stop_reason();
    response_.stop_text = refusal_.empty() ? finish_word_ : finish_word_ + ": " + refusal_;
    return std::move(response_);
  }

 private:
  using Place = std::int64_t;  // Among the calls.

  struct DraftCall {
    std::string id{};
    std::string name{};
    std::string args{};
    std::string own{};  // Members that are the vendor's, as they came.
  };

  [[nodiscard]] Result<void> take_chunk(std::string_view data) {
    const auto json = parse_foreign_json(data);
    if (!json) {
      return fail(ErrorCode::unavailable,
                  "the response's stream has an event that is no JSON: " + json.error().message);
    }
    if (wire::has_error(*json)) return refuse(data);
    return take_object(*json, data, "delta");
  }

  /// `part` is what its choice has: a "delta", or the whole "message".
  [[nodiscard]] Result<void> take_object(const Json& json, std::string_view raw,
                                         std::string_view part) {
    state_.has_begun = true;
    if (response_.response_id.empty()) response_.response_id = text_in(json, "id");
    if (response_.model.empty()) response_.model = text_in(json, "model");
    if (const Json* const usage = json.find("usage"); usage != nullptr && usage->is_object()) {
      take_usage(*usage);
    }
    const Json* const choices = json.find("choices");
    if (choices == nullptr || choices->as_array() == nullptr || choices->as_array()->empty())
      return {};
    const auto raws = raw_elements(wire::raw_in(raw, "choices"));
    if (!raws.empty()) take_choice(choices->as_array()->front(), raws.front(), part);
    if (calls_.size() <= wire::blocks_max) return {};
    return fail(ErrorCode::unavailable,
                fmt::format("the response has more than {} calls", wire::blocks_max));
  }

  void take_choice(const Json& choice, std::string_view raw, std::string_view part) {
    if (wire::number_in(choice, "index") != 0) return;
    if (const Json* const said = choice.find(part)) take_delta(*said, wire::raw_in(raw, part));
    const std::string word = text_in(choice, "finish_reason");
    if (word.empty()) return;
    finish_word_ = word;
    state_.is_whole = true;
  }

  void end() { state_.is_whole = state_.has_ended = true; }

  [[nodiscard]] Result<void> refuse(std::string_view raw) {
    state_.was_refused = !state_.has_begun;
    return fail(ErrorCode::unavailable, wire::error_words(raw));
  }

  void take_delta(const Json& delta, std::string_view raw) {
    take_reasoning(delta, raw);
    const std::string piece = text_in(delta, "content");
    wire::append(text_, piece);
    if (!piece.empty()) observer_.on_text(piece);
    const std::string refused = text_in(delta, "refusal");
    wire::append(refusal_, refused);
    if (!refused.empty()) observer_.on_text(refused);
    const Json* const calls = delta.find("tool_calls");
    if (calls == nullptr || calls->as_array() == nullptr) return;
    const auto raws = raw_elements(wire::raw_in(raw, "tool_calls"));
    for (std::size_t i = 0; i < raws.size(); ++i)
      take_call((*calls->as_array())[i], raws[i], i == 0);
  }

  void take_reasoning(const Json& delta, std::string_view raw) {
    for (const std::string_view field : {"reasoning_content", "reasoning"}) {
      const std::string piece = text_in(delta, field);
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

  void take_call(const Json& call, std::string_view raw, bool is_first) {
    last_ = place_of(call, is_first);
    DraftCall& draft = calls_[last_];
    if (draft.id.empty()) draft.id = text_in(call, "id");
    if (!draft.id.empty()) by_id_.insert_or_assign(draft.id, last_);
    if (const Json* const function = call.find("function")) {
      if (draft.name.empty()) draft.name = text_in(*function, "name");
      const Json* const args = function->find("arguments");
      // Some servers give the object itself instead of its text.
      if (args != nullptr && args->is_object()) {
        draft.args = wire::raw_in(wire::raw_in(raw, "function"), "arguments");
      } else {
        wire::append(draft.args, text_in(*function, "arguments"));
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

  void take_usage(const Json& usage) {
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

  /// `is_first` of those that came together.
  // By its index; by its id; what has neither continues the last one, unless another name says
  // that it begins a call. A list of calls that have neither is one of whole calls.
  [[nodiscard]] Place place_of(const Json& call, bool is_first) {
    const std::string id = text_in(call, "id");
    const Json* const index = call.find("index");
    if (index != nullptr && index->is_number()) {
      return place_by_index(wire::number_in(call, "index"), id);
    }
    const Place next = calls_.empty() ? 0 : calls_.rbegin()->first + 1;
    const auto known = id.empty() ? by_id_.end() : by_id_.find(id);
    const bool goes_on = id.empty() ? is_first && !calls_.empty() : known != by_id_.end();
    if (!goes_on) return next;
    const Place place = id.empty() ? last_ : known->second;
    const Json* const function = call.find("function");
    const std::string name = function != nullptr ? text_in(*function, "name") : std::string();
    const std::string& before = calls_[place].name;
    return name.empty() || before.empty() || name == before ? place : next;
  }

  // Some servers say 0 of each: another id at the same index is another call, or one of before.
  [[nodiscard]] Place place_by_index(Place index, const std::string& id) {
    Place& place = by_index_.try_emplace(index, index).first->second;
    const auto found = calls_.find(place);
    if (id.empty() || found == calls_.end() || found->second.id.empty() || found->second.id == id) {
      return place;
    }
    const auto known = by_id_.find(id);
    place = known != by_id_.end() ? known->second : calls_.rbegin()->first + 1;
    return place;
  }

  void add_reasoning() {
    if (reasoning_.empty() && reasoning_details_.empty()) return;
    std::string own;
    if (!reasoning_field_.empty()) own = "\"field\":" + wire::quoted(reasoning_field_);
    if (!reasoning_details_.empty()) {
      if (!own.empty()) own += ',';
      // It may be as large as all of the response: it is held once.
      constexpr std::string_view name = "\"reasoning_details\":[";
      own.reserve(own.size() + name.size() + reasoning_details_.size() + 1);
      own.append(name).append(std::exchange(reasoning_details_, {})).append("]");
    }
    ObjectWriter metadata;
    metadata.add_raw("chat", chats_own(std::exchange(own, {})).text());
    auto raw = RawJson::from_text(metadata.finish());
    response_.message.blocks.emplace_back(ReasoningBlock{
        .text = std::move(reasoning_), .metadata = raw ? *std::move(raw) : RawJson()});
  }

  void add_calls() {
    for (const auto& [index, draft] : calls_) {
      ToolCallBlock call{.id = draft.id, .name = draft.name, .args = draft.args};
      if (call.id.empty()) call.id = "call_" + std::to_string(index);
      while (draft.id.empty() && by_id_.contains(call.id)) call.id += '_';
      if (call.args.empty()) call.args = "{}";
      if (!draft.own.empty()) call.unknown = {{"chat", chats_own(draft.own)}};
      if (state_.is_whole) observer_.on_call(call);
      response_.message.blocks.emplace_back(std::move(call));
    }
  }

  [[nodiscard]] StopReason stop_reason() const {
    if (!refusal_.empty() || finish_word_ == "content_filter") return StopReason::refusal;
    if (finish_word_ == "length") return StopReason::length;
    // Some servers say "stop" after calls, too.
    if (!calls_.empty()) return StopReason::calls;
    return finish_word_ == "stop" || finish_word_.empty() ? StopReason::end : StopReason::other;
  }

  ModelObserver& observer_;
  ModelResponse response_;
  std::string text_;
  std::string refusal_;
  std::string reasoning_;
  std::string reasoning_field_;
  std::string reasoning_details_;  // Elements, with commas between.
  std::map<Place, DraftCall> calls_;
  std::map<Place, Place> by_index_;  // The call that has an index now.
  std::map<std::string, Place, std::less<>> by_id_;
  Place last_ = 0;  // That something came of.
  std::string finish_word_;
  StreamState state_;
};

class ChatDialect final : public Dialect {
 public:
  explicit ChatDialect(ChatOptions options) : options_(std::move(options)) {}

  [[nodiscard]] std::string_view name() const override { return "chat completions"; }

  [[nodiscard]] Result<std::string> head(const Setup& setup) const override {
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

  [[nodiscard]] std::string cap(const Setup& setup) const override {
    if (said_by(setup, options_.cap_parameter)) return {};
    const std::string& url = options_.http.base_url;
    const bool is_openai = url.empty() || url.starts_with("https://api.openai.com");
    std::string name = options_.cap_parameter;
    if (name.empty()) name = is_openai ? "max_completion_tokens" : "max_tokens";
    return fmt::format("{}:{}", wire::quoted(name), options_.http.tokens_out_max);
  }

  /// The cache of these servers needs no marks.
  [[nodiscard]] std::string message(const Message& message, bool /*is_last*/) const override {
    return message.role == Role::assistant ? assistant(message) : others(message);
  }

  [[nodiscard]] std::int64_t tokens_out_max(const Setup& setup) const override {
    return said_by(setup, options_.cap_parameter).value_or(options_.http.tokens_out_max);
  }

  [[nodiscard]] std::vector<std::pair<std::string, std::string>> headers() const override {
    std::vector<std::pair<std::string, std::string>> headers = options_.http.headers;
    const ApiKey& key = options_.http.key;
    if (!key.is_none()) headers.emplace_back("Authorization", "Bearer " + key.reveal());
    return headers;
  }

  [[nodiscard]] std::unique_ptr<ResponseStream> open(ModelObserver& observer) const override {
    return std::make_unique<ChatStream>(observer);
  }

 private:
  [[nodiscard]] std::string assistant(const Message& message) const {
    AssistantParts parts;
    for (const Block& block : message.blocks) std::visit(parts, block);
    const bool has_words = !parts.text.empty() || !parts.refusal.empty();
    if (!has_words && parts.calls.empty()) return {};
    ObjectWriter writer;
    writer.add("role", "assistant");
    writer.add("content", parts.text.empty() ? Json() : Json(parts.text));
    if (!parts.refusal.empty()) writer.add("refusal", parts.refusal);
    if (!parts.calls.empty()) writer.add_raw("tool_calls", "[" + parts.calls + "]");
    if (!options_.sends_reasoning) return writer.finish();
    return wire::with_members(writer.finish(), parts.reasoning.finish());
  }

  [[nodiscard]] std::string others(const Message& message) const {
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

  ChatOptions options_;
};

}  // namespace

std::unique_ptr<const Dialect> chat_dialect(ChatOptions options) {
  return std::make_unique<ChatDialect>(std::move(options));
}

}  // namespace perdure
