// Anthropic Messages: how a conversation is written.
//
// What this vendor signed or added goes back as it came: a reasoning block's metadata, a text's or
// a call's own members, and whole blocks of unknown types are kept under the name "anthropic", and
// written only here. Reasoning of another vendor is left out: it has no signature of this one.

#pragma once

#include <cstdint>
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

class AnthropicDialect final : public Dialect {
 public:
  explicit AnthropicDialect(AnthropicOptions options) : options_(std::move(options)) {}

  [[nodiscard]] std::string_view name() const override { return "anthropic"; }
  [[nodiscard]] Result<std::string> head(const Setup& setup) const override;
  [[nodiscard]] std::string message(const Message& message) const override;
  [[nodiscard]] std::string last_message(const Message& message) const override;
  [[nodiscard]] std::int64_t tokens_out_max(const Setup& setup) const override;
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> headers() const override;
  [[nodiscard]] std::unique_ptr<ResponseStream> open(ModelObserver& observer) const override;

 private:
  AnthropicOptions options_;
};

// Anthropic Messages: how a response is read.
//
// Blocks arrive one after the other: a start, deltas, a stop. What a delta changes is known for text,
// thinking and calls; any other delta is joined to its block member by member, so that a block
// of a type that nobody knew can still go back whole.

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

class AnthropicStream final : public ResponseStream {
 public:
  explicit AnthropicStream(ModelObserver& observer) : observer_(observer) {}

  [[nodiscard]] Result<void> take(const SseEvent& event) override;
  [[nodiscard]] Result<void> take_whole(const Json& json, std::string_view raw) override;
  [[nodiscard]] bool has_ended() const override { return has_ended_; }
  [[nodiscard]] bool is_whole() const override { return has_ended_; }
  [[nodiscard]] bool has_begun() const override { return has_begun_; }
  [[nodiscard]] bool was_refused() const override { return was_refused_; }
  [[nodiscard]] ModelResponse finish() override;

 private:
  [[nodiscard]] Result<void> take_known(std::string_view type, const Json& json,
                                        std::string_view data);
  void begin_message(const Json& message);
  [[nodiscard]] Result<void> begin_block(std::int64_t index, const Json* block,
                                         std::string_view raw);
  /// The last one of the index; null if there is none.
  [[nodiscard]] AnthropicDraft* draft_at(std::int64_t index);
  [[nodiscard]] Result<void> take_delta(const Json& json, std::string_view data);
  void apply(AnthropicDraft& draft, const Json& delta, std::string_view raw);
  void end_block(std::int64_t index);
  void take_end(const Json& counted, const Json* stopped);
  void take_usage(const Json& holder);

  ModelObserver& observer_;
  // By the index the vendor gave. Some servers give one twice: each is a block, in their order.
  std::multimap<std::int64_t, AnthropicDraft> drafts_;
  ModelResponse response_;
  std::int64_t uncached_ = 0;
  bool has_input_ = false;   // Counted by the vendor.
  bool has_output_ = false;  // Counted by the vendor.
  bool has_begun_ = false;
  bool has_ended_ = false;
  bool was_refused_ = false;
};

/// The draft as a block of a message.
[[nodiscard]] Block block_of(AnthropicDraft draft);

}  // namespace perdure
