// The tools of a simulated life: every effect class, every repeat rule, near and far.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "perdure/core/time.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"

namespace perdure::simulation {

inline constexpr Duration lease_time{30'000};
inline constexpr Duration in_flight_max{120'000};

struct Kind {
  std::string name{};
  EffectClass effect = EffectClass::unsafe;
  Repeat repeat = Repeat::each_call;
  bool has_business_key = false;  ///< Argument `op` names the operation, whatever the others say.
  bool is_local = false;          ///< Dies with its process: nothing of it lands late.
  std::optional<Duration> key_window{};
  bool needs_approval = false;

  [[nodiscard]] bool is_read() const { return effect == EffectClass::read_only; }
  [[nodiscard]] bool is_keyed() const { return effect == EffectClass::idempotent; }
  [[nodiscard]] bool has_verify() const {
    return effect == EffectClass::verifiable || key_window.has_value();
  }
};

[[nodiscard]] const std::vector<Kind>& all_kinds();
[[nodiscard]] const Kind* find_kind(const std::string& name);

/// The tool, all but its `run` and `verify`.
[[nodiscard]] Tool declare(const Kind& kind);

}  // namespace perdure::simulation
