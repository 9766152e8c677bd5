// Numbers a session counts by name: retries, nudges, rounds.
//
// Their JSON is `{"counters": {name: integer}}`.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "perdure/core/error.hpp"
#include "perdure/runtime/message.hpp"

namespace perdure {

struct Counters {
  std::map<std::string, std::int64_t, std::less<>> values{};
  Unknown unknown{};
  bool operator==(const Counters&) const = default;

  /// 0 for one that was never counted.
  [[nodiscard]] std::int64_t at(std::string_view name) const;
};

/// Returns the new number. The counter is unchanged if this fails.
/// Fails: `invalid_argument` for a name that core's check_name refuses, or beyond 64 bits.
[[nodiscard]] Result<std::int64_t> add(Counters& counters, std::string_view name,
                                       std::int64_t number);

[[nodiscard]] std::string to_json(const Counters& counters);

/// Fails: `invalid_argument` for text that is no counters; `unsupported` for a newer version.
[[nodiscard]] Result<Counters> counters_from_json(std::string_view text);

}  // namespace perdure
