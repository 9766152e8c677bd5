// Findings are listed up to a limit and counted beyond it: a large store may be
// damaged in more places than anybody reads.

#include "rules/check_run.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "perdure/core/id.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/upkeep.hpp"

namespace perdure::rules {

void Findings::add(Damage damage) {
  ++report.found;
  if (report.damage.size() < damage_max) report.damage.push_back(std::move(damage));
}

void Findings::add(Fault fault, const std::optional<SessionId>& session, std::string what) {
  add({.fault = fault, .session = session, .first = 0, .last = 0, .what = std::move(what)});
}

CheckReport Findings::finish() {
  std::ranges::stable_sort(report.damage, {}, [](const Damage& damage) {
    return std::tuple(damage.session, damage.first, damage.last);
  });
  return std::move(report);
}

std::string positions_text(Position first, Position last) {
  if (first == last) return fmt::format("position {}", first);
  return fmt::format("positions {} to {}", first, last);
}

}  // namespace perdure::rules
