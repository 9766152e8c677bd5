// What tokens cost.
//
// Prices are per million tokens, in millionths of a dollar; a user's own table goes over the one
// that is built in. A model that is in neither has no price: its tokens are counted, and what it
// costs is not known, which is not the same as nothing.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "perdure/agent/provider.hpp"
#include "perdure/core/error.hpp"

namespace perdure {

/// Of one model, in micros per million tokens. 3,000,000 is three dollars.
struct Price {
  std::int64_t input = 0;
  std::int64_t output = 0;
  std::int64_t cache_read = 0;
  std::int64_t cache_write = 0;
  bool operator==(const Price&) const = default;
};

/// A value.
class Prices {
 public:
  /// Knows no model.
  Prices() = default;
  /// What vendors asked when this version was made; they change it, so check what matters to you.
  [[nodiscard]] static Prices built_in();

  void set(std::string model, const Price& price);
  /// Takes over the entries of a table, JSON or YAML, in dollars per million tokens:
  /// `my-model: {input: 0.5, output: 2.25, cache_read: 0.05, cache_write: 0.6}`. Without a price
  /// for the cache, reading and writing it cost as input does.
  /// Fails: `invalid_argument`, with the line, for what is no such table, or says something twice;
  /// nothing is taken then.
  [[nodiscard]] Result<void> override_with(std::string_view text);

  /// By its name, or by its name without a date at the end (`-20260101`, `-2026-01-01`) or
  /// `-latest`. Nothing for a model that has no price.
  [[nodiscard]] std::optional<Price> find(std::string_view model) const;

 private:
  std::map<std::string, Price, std::less<>> models_;
};

/// Rounded up to a whole micro; the largest number there is if it does not fit.
[[nodiscard]] std::int64_t cost_of(const Price& price, const ModelUsage& usage);

/// The most that a request may cost, for its reservation: nothing read from a cache, all written
/// to it, all of the answer used.
[[nodiscard]] std::int64_t reservation_for(const Price& price, const PreparedRequest& request);

/// The most that the request may have cost of whose usage only a part is known: what was sent, as it
/// was told if it was, and all that the answer may have.
[[nodiscard]] std::int64_t most_of(const Price& price, const ModelUsage& told,
                                   const PreparedRequest& request);

}  // namespace perdure
