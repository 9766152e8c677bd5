// Which request meets which fate, and what that fate is.

#include "world/network.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "world/vendor.hpp"
#include "world/wire.hpp"

namespace perdure::world {

Result<void> Network::plan(const Json& request) {
  const auto fate = fate_from(text_of(request, "fate"));
  const std::int64_t nth = number_of(request, "nth", 1);
  if (!fate || nth < 1) {
    return fail(ErrorCode::invalid_argument, "a plan needs a fate, and nth from 1");
  }
  const std::string of = text_of(request, "of");
  plans_.push_back({.fate = *fate,
                    .of = of.empty() ? "effect" : of,
                    .tool = text_of(request, "tool"),
                    .op = text_of(request, "op"),
                    .nth = nth,
                    .after = number_of(request, "after")});
  return {};
}

Network::Plan Network::take_plan(const Json& request) {
  const auto fits = [&request](const std::string& wanted, const char* member) {
    return wanted.empty() || wanted == text_of(request, member);
  };
  auto chosen = plans_.end();
  for (auto plan = plans_.begin(); plan != plans_.end(); ++plan) {
    if (!fits(plan->of, "request") || !fits(plan->tool, "tool") || !fits(plan->op, "op")) continue;
    if (plan->nth > 1) {
      --plan->nth;
    } else if (chosen == plans_.end()) {
      chosen = plan;
    }
  }
  if (chosen == plans_.end()) return {};
  Plan taken = std::move(*chosen);
  plans_.erase(chosen);
  return taken;
}

Carried Network::carry(const Json& request) {
  // A verify only reads: it leaves no trace, not even that it was asked.
  if (text_of(request, "request") != "verify") vendor_.note(request);
  const std::size_t earlier = late_.size();
  Carried carried = end_of(request, take_plan(request));
  move_on(earlier);
  return carried;
}

Carried Network::end_of(const Json& request, const Plan& plan) {
  using enum Carried::End;
  switch (plan.fate) {
    case Fate::none:
      break;
    case Fate::lose_request:
      return {.end = close};
    case Fate::lose_answer:
      (void)vendor_.serve(request);
      return {.end = close};
    case Fate::late:
      late_.push_back({.request = request, .after = plan.after});
      return {.end = close};
    case Fate::twice: {
      Json first = vendor_.serve(request);
      (void)vendor_.serve(request);
      return {.end = answer, .answer = std::move(first)};
    }
    case Fate::hang:
      return {.end = hold, .answer = vendor_.serve(request)};
    case Fate::deny:
      return {.end = answer, .answer = Json::Object{{"denied", "as planned: nothing happened"}}};
  }
  return {.end = answer, .answer = vendor_.serve(request)};
}

// After the request that let them move: one that asks at that moment does not see them yet.
void Network::move_on(std::size_t count) {
  std::vector<Late> still_late;
  for (std::size_t i = 0; i < late_.size(); ++i) {
    Late& late = late_[i];
    if (i < count && late.after == 1) {
      (void)vendor_.serve(late.request);
      continue;
    }
    if (i < count && late.after > 1) --late.after;
    still_late.push_back(std::move(late));
  }
  late_ = std::move(still_late);
}

void Network::deliver() {
  for (const Late& late : std::exchange(late_, {})) (void)vendor_.serve(late.request);
}

}  // namespace perdure::world
