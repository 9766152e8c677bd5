// The conversation of a session as its provider knows it. What the provider was told before it is
// not told again: a request costs what is new. What it was not told, it is told in parts, each
// gone before the next: the first request of a long session holds no second copy of it. Another
// model is told all of it anew, without what the one before it thought.

#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "perdure/agent/provider.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/state.hpp"
#include "runtime/api/read.hpp"

namespace perdure {

class Conversation {
 public:
  explicit Conversation(std::unique_ptr<Provider> provider) : provider_(std::move(provider)) {}

  /// Prepares what the state says, and `input` after it. Fails: as Provider::prepare; `unavailable`
  /// if it throws.
  [[nodiscard]] Result<PreparedRequest> prepare(const Setup& setup, const State& state,
                                                const std::optional<Message>& input);
  /// Sends what was prepared. A provider that throws is a connection that was lost: what it told
  /// before is a response that was cut off; if that is nothing, nobody knows whether one was paid
  /// for.
  [[nodiscard]] ModelOutcome send(ModelObserver& observer, const std::stop_token& stop);

 private:
  void forget();

  std::unique_ptr<Provider> provider_;
  std::string model_;  ///< That was told it.
  GrowingHistory history_;
  std::size_t told_ = 0;          ///< Messages of the state.
  std::optional<Message> input_;  ///< That was told after them.
};

}  // namespace perdure
