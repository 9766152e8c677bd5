// Anthropic Messages: how a conversation is written.
//
// What this vendor signed or added goes back as it came: a reasoning block's metadata, a text's or
// a call's own members, and whole blocks of unknown types are kept under the name "anthropic", and
// written only here. Reasoning of another vendor is left out: it has no signature of this one.

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

}  // namespace perdure
