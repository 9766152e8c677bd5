// The words of the seam, and what tokens cost.
//
// The table that is built in is what was published in November 2026, as far as we could read it.
// Check yours. Only models of one price are in it: where a price depends on the size of a request,
// a flat one would count too little, and "not known" is the better answer.

#include "perdure/agent/provider.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/api/text.hpp"
#include "models/dialect.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/state.hpp"

namespace perdure {

ModelObserver::~ModelObserver() = default;
void ModelObserver::on_text(std::string_view /*piece*/) {}
void ModelObserver::on_reasoning(std::string_view /*piece*/) {}
void ModelObserver::on_call(const ToolCallBlock& /*call*/) {}
void ModelObserver::on_retry(const RetryNotice& /*notice*/) {}

Provider::~Provider() = default;

namespace {

// In the order of StopReason.
constexpr std::array<std::string_view, 6> stop_reasons = {"end",     "calls",  "length",
                                                          "refusal", "paused", "other"};

}  // namespace

std::string_view to_string(StopReason reason) {
  return stop_reasons.at(std::to_underlying(reason));
}

std::optional<StopReason> wire::find_stop_reason(std::string_view text) {
  const auto* const found = std::ranges::find(stop_reasons, text);
  if (found == stop_reasons.end()) return std::nullopt;
  return static_cast<StopReason>(found - stop_reasons.begin());
}

namespace {

struct Listed {
  std::string_view model;
  Price price;
};

// Input, output, cache read, cache write.
constexpr std::array listed = {
    Listed{"claude-fable-5-1", {10'000'000, 50'000'000, 250'000, 12'500'000}},
    Listed{"claude-fable-5", {10'000'000, 50'000'000, 1'000'000, 12'500'000}},
    Listed{"claude-opus-5-5", {4'000'000, 20'000'000, 200'000, 5'000'000}},
    Listed{"claude-opus-5", {5'000'000, 25'000'000, 500'000, 6'250'000}},
    Listed{"claude-opus-4-8", {5'000'000, 25'000'000, 500'000, 6'250'000}},
    Listed{"claude-opus-4-7", {5'000'000, 25'000'000, 500'000, 6'250'000}},
    Listed{"claude-opus-4-6", {5'000'000, 25'000'000, 500'000, 6'250'000}},
    Listed{"claude-opus-4-5", {5'000'000, 25'000'000, 500'000, 6'250'000}},
    Listed{"claude-opus-4-1", {15'000'000, 75'000'000, 1'500'000, 18'750'000}},
    Listed{"claude-sonnet-5-5", {2'000'000, 10'000'000, 200'000, 2'500'000}},
    Listed{"claude-sonnet-5", {2'000'000, 10'000'000, 200'000, 2'500'000}},
    Listed{"claude-sonnet-4-6", {3'000'000, 15'000'000, 300'000, 3'750'000}},
    Listed{"claude-sonnet-4-5", {3'000'000, 15'000'000, 300'000, 3'750'000}},
    Listed{"claude-haiku-4-5", {1'000'000, 5'000'000, 100'000, 1'250'000}},
    Listed{"gpt-5.2", {1'750'000, 14'000'000, 175'000, 1'750'000}},
    Listed{"gpt-5.1", {1'250'000, 10'000'000, 125'000, 1'250'000}},
    Listed{"gpt-5", {1'250'000, 10'000'000, 125'000, 1'250'000}},
    Listed{"gpt-5-mini", {250'000, 2'000'000, 25'000, 250'000}},
    Listed{"gpt-5-nano", {50'000, 400'000, 5'000, 50'000}},
    Listed{"gpt-4.1", {2'000'000, 8'000'000, 500'000, 2'000'000}},
    Listed{"gpt-4.1-mini", {400'000, 1'600'000, 100'000, 400'000}},
    Listed{"gpt-4.1-nano", {100'000, 400'000, 25'000, 100'000}},
    Listed{"gpt-4o", {2'500'000, 10'000'000, 1'250'000, 2'500'000}},
    Listed{"gpt-4o-mini", {150'000, 600'000, 75'000, 150'000}},
};

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t tokens_priced = 1'000'000;

// In millionths of a micro; a sum that does not fit is the largest number.
std::int64_t plus_tokens(std::int64_t sum, std::int64_t tokens, std::int64_t price) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(std::max<std::int64_t>(0, tokens), price, &product)) return largest;
  std::int64_t total = 0;
  return __builtin_add_overflow(sum, product, &total) ? largest : total;
}

std::int64_t to_micros(std::int64_t millionths) {
  return millionths / tokens_priced + (millionths % tokens_priced == 0 ? 0 : 1);
}

bool is_digits(std::string_view text, std::size_t count) {
  return text.size() == count &&
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// Without `-20260101`, `-2026-01-01` or `-latest`.
std::string_view without_date(std::string_view model) {
  constexpr std::string_view latest = "-latest";
  if (model.ends_with(latest)) return model.substr(0, model.size() - latest.size());
  const auto tail = [&](std::size_t size) {
    return model.size() > size ? model.substr(model.size() - size) : std::string_view();
  };
  const std::string_view plain = tail(9);
  if (plain.starts_with('-') && is_digits(plain.substr(1), 8))
    return model.substr(0, model.size() - 9);
  const std::string_view dashed = tail(11);
  const bool is_date = !dashed.empty() && dashed[0] == '-' && dashed[5] == '-' &&
                       dashed[8] == '-' && is_digits(dashed.substr(1, 4), 4) &&
                       is_digits(dashed.substr(6, 2), 2) && is_digits(dashed.substr(9), 2);
  return is_date ? model.substr(0, model.size() - 11) : model;
}

}  // namespace

Prices Prices::built_in() {
  Prices prices;
  for (const auto& [model, price] : listed) prices.set(std::string(model), price);
  return prices;
}

void Prices::set(std::string model, const Price& price) {
  models_.insert_or_assign(std::move(model), price);
}

std::optional<Price> Prices::find(std::string_view model) const {
  for (const std::string_view name : {model, without_date(model)}) {
    if (const auto found = models_.find(name); found != models_.end()) return found->second;
  }
  return std::nullopt;
}

std::int64_t cost_of(const Price& price, const ModelUsage& usage) {
  const std::int64_t fresh = usage.tokens_in - usage.cache_read - usage.cache_write;
  std::int64_t sum = plus_tokens(0, fresh, price.input);
  sum = plus_tokens(sum, usage.cache_read, price.cache_read);
  sum = plus_tokens(sum, usage.cache_write, price.cache_write);
  sum = plus_tokens(sum, usage.tokens_out, price.output);
  return sum == largest ? largest : to_micros(sum);
}

std::int64_t reservation_for(const Price& price, const PreparedRequest& request) {
  std::int64_t sum = plus_tokens(0, request.tokens_in, std::max(price.input, price.cache_write));
  sum = plus_tokens(sum, request.tokens_out, price.output);
  return sum == largest ? largest : to_micros(sum);
}

}  // namespace perdure
