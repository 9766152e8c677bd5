// One attempt at a request: takes the answer as it streams in, and says what came of it.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "models/dialect.hpp"
#include "models/http.hpp"
#include "models/sse.hpp"
#include "perdure/agent/api_key.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/core/error.hpp"

namespace perdure {

class Attempt final : public HttpReader {
 public:
  /// All outlive this.
  Attempt(const Dialect& dialect, const ApiKey& key, ModelObserver& observer)
      : dialect_(dialect), key_(key), stream_(dialect.open(observer)) {}

  void on_head(HttpHead head) override { head_ = std::move(head); }
  [[nodiscard]] Result<void> on_bytes(std::string_view bytes) override;
  [[nodiscard]] bool has_all() const override { return is_response() && stream_->has_ended(); }

  [[nodiscard]] const std::optional<HttpHead>& head() const { return head_; }
  /// What the exchange came to. Asked once.
  [[nodiscard]] ModelOutcome outcome(const HttpEnd& end);
  /// Whether the same request may be sent again: it cost nothing, and another day it may succeed.
  [[nodiscard]] bool may_be_repeated(const HttpEnd& end) const;

 private:
  [[nodiscard]] bool is_response() const { return head_ && head_->status == 200; }
  /// What the body is shows with its first character, whatever the server calls it.
  enum class Form : std::uint8_t { unknown, events, object };

  [[nodiscard]] Result<void> take(std::string_view bytes);
  [[nodiscard]] ModelOutcome response(const HttpEnd& end);
  [[nodiscard]] ModelOutcome whole_response(HttpEnd end);
  /// An error came in the place of a response.
  [[nodiscard]] bool was_refused() const { return is_response() && stream_->was_refused(); }
  [[nodiscard]] NotAnswered in_its_words(std::string_view words) const;
  [[nodiscard]] NotAnswered no_stream() const;
  [[nodiscard]] NotAnswered refusal() const;
  [[nodiscard]] NotAnswered nothing(const HttpEnd& end) const;
  [[nodiscard]] std::string request_id() const;

  const Dialect& dialect_;
  const ApiKey& key_;
  std::unique_ptr<ResponseStream> stream_;
  SseParser parser_;
  std::optional<HttpHead> head_;
  Form form_ = Form::unknown;
  std::string
      body_;  // Of an error its beginning, of one object all; of events what comes before them.
};

}  // namespace perdure
