// What a store's promises rest on where it lives, and what is missing.
//
// Not whether it is damaged: `check` says that.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/core/error.hpp"

namespace perdure {

enum class Gravity : std::uint8_t {
  fine,
  warning,  ///< A promise is narrower than people may think.
  danger,   ///< What was acknowledged may be lost.
};

[[nodiscard]] std::string_view to_string(Gravity gravity);

struct Remark {
  Gravity gravity = Gravity::fine;
  std::string topic{};   ///< One word: "disk", "replication", "pooler".
  std::string what{};    ///< A sentence for a person.
  std::string advice{};  ///< What to do; empty if nothing need be.

  bool operator==(const Remark&) const = default;
};

/// What a store would rest on at this server, `postgres://…`, before it is there. Makes nothing.
/// Fails: `invalid_argument` for another location; otherwise as open_store.
[[nodiscard]] Result<std::vector<Remark>> examine_server(const std::string& location);

}  // namespace perdure
