// OpenAI Chat Completions, and what compatible servers make of it: how a conversation is written.
//
// Results of calls are messages of their own here, so one of ours may become several. Reasoning goes
// back in the field in which it came (chat_stream.hpp), and only to a server that speaks this format.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/dialect.hpp"
#include "models/sse.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/conversation.hpp"

namespace perdure {

class ChatDialect final : public Dialect {
 public:
  explicit ChatDialect(ChatOptions options) : options_(std::move(options)) {}

  [[nodiscard]] std::string_view name() const override { return "chat completions"; }
  [[nodiscard]] Result<std::string> head(const Setup& setup) const override;
  [[nodiscard]] std::string cap(const Setup& setup) const override;
  [[nodiscard]] std::string message(const Message& message) const override;
  /// The cache of these servers needs no marks.
  [[nodiscard]] std::string last_message(const Message& message) const override;
  [[nodiscard]] std::int64_t tokens_out_max(const Setup& setup) const override;
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> headers() const override;
  [[nodiscard]] std::unique_ptr<ResponseStream> open(ModelObserver& observer) const override;

 private:
  [[nodiscard]] std::string assistant(const Message& message) const;
  [[nodiscard]] std::string others(const Message& message) const;

  ChatOptions options_;
};

// OpenAI Chat Completions: how a response is read, from OpenAI and from servers that are nearly it.
//
// A reason to finish says that the answer is whole; tokens are counted after it, by servers that count.
// Calls come in pieces, joined by their index, or by their id where they have none; ids may be missing
// too, and a call may come at once.
// Reasoning comes in fields that no specification has: reasoning_content, reasoning, and
// reasoning_details, a list that its server must get back as it was.

class ChatStream final : public ResponseStream {
 public:
  explicit ChatStream(ModelObserver& observer) : observer_(observer) {}

  [[nodiscard]] Result<void> take(const SseEvent& event) override;
  [[nodiscard]] Result<void> take_whole(const Json& json, std::string_view raw) override;
  [[nodiscard]] bool has_ended() const override { return has_ended_; }
  [[nodiscard]] bool is_whole() const override { return has_ended_ || !finish_word_.empty(); }
  [[nodiscard]] bool has_begun() const override { return has_begun_; }
  [[nodiscard]] bool was_refused() const override { return was_refused_; }
  [[nodiscard]] ModelResponse finish() override;

 private:
  using Place = std::int64_t;  // Among the calls.

  struct DraftCall {
    std::string id{};
    std::string name{};
    std::string args{};
    std::string own{};  // Members that are the vendor's, as they came.
  };

  [[nodiscard]] Result<void> take_chunk(std::string_view data);
  /// `part` is what its choice has: a "delta", or the whole "message".
  [[nodiscard]] Result<void> take_object(const Json& json, std::string_view raw,
                                         std::string_view part);
  void take_choice(const Json& choice, std::string_view raw, std::string_view part);
  [[nodiscard]] Result<void> refuse(std::string_view raw);
  void take_delta(const Json& delta, std::string_view raw);
  void take_reasoning(const Json& delta, std::string_view raw);
  void take_call(const Json& call, std::string_view raw, bool is_first);
  void take_usage(const Json& usage);
  /// `is_first` of those that came together.
  [[nodiscard]] Place place_of(const Json& call, bool is_first);
  [[nodiscard]] Place place_by_index(Place index, const std::string& id);
  void add_reasoning();
  void add_calls();
  [[nodiscard]] StopReason stop_reason() const;

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
  bool has_begun_ = false;
  bool has_ended_ = false;
  bool was_refused_ = false;
};

}  // namespace perdure
