// Names say what a tool does; what it is follows from the row.

#include "simulation/kinds.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "perdure/core/time.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"

namespace perdure::simulation {

const std::vector<Kind>& all_kinds() {
  using enum EffectClass;
  using enum Repeat;
  static const std::vector<Kind> kinds = {
      {.name = "look", .effect = read_only},
      {.name = "fetch", .effect = read_only, .repeat = once_per_session},
      {.name = "reserve", .effect = idempotent},
      {.name = "pay", .effect = idempotent, .repeat = once_per_session, .has_business_key = true},
      {.name = "register", .effect = idempotent, .repeat = once_per_store},
      {.name = "hold", .effect = idempotent, .key_window = Duration(400'000)},
      {.name = "ship", .effect = verifiable},
      {.name = "wire", .effect = verifiable, .repeat = once_per_session},
      {.name = "order",
       .effect = verifiable,
       .repeat = once_per_store,
       .has_business_key = true,
       .needs_approval = true},
      {.name = "save", .effect = verifiable, .is_local = true},
      {.name = "ring", .effect = unsafe},
      {.name = "mail", .effect = unsafe, .repeat = once_per_session, .needs_approval = true},
  };
  return kinds;
}

const Kind* find_kind(const std::string& name) {
  const auto found = std::ranges::find(all_kinds(), name, &Kind::name);
  return found == all_kinds().end() ? nullptr : &*found;
}

Tool declare(const Kind& kind) {
  Tool tool{.name = kind.name,
            .side_effects = SideEffects{.read = true},
            .honours_key = kind.is_keyed(),
            .key_window = kind.key_window,
            .repeat = kind.repeat,
            .business_key = kind.has_business_key ? "/op" : "",
            .in_flight_max = in_flight_max};
  tool.side_effects->network = !kind.is_local;
  if (!kind.is_read()) {
    tool.side_effects->write = kind.is_local;
    tool.side_effects->mutate = !kind.is_local;
  }
  return tool;
}

}  // namespace perdure::simulation
