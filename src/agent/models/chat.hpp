// OpenAI Chat Completions, and what compatible servers make of it: how a conversation is written.
//
// Results of calls are messages of their own here, so one of ours may become several. Reasoning goes
// back in the field in which it came (chat_stream.hpp), and only to a server that speaks this format.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/dialect.hpp"
#include "perdure/agent/providers.hpp"

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

}  // namespace perdure
