// What a Session is made of.

#pragma once

#include <optional>
#include <utility>

#include "dispatch/dispatcher.hpp"
#include "perdure/store/ownership.hpp"
#include "perdure/store/sessions.hpp"
#include "session/held_session.hpp"

namespace perdure {

struct SessionParts {
  SessionParts(HeldSession::World world, HeldSession::Grip grip, std::optional<Holder> before)
      : held(world, std::move(grip), std::move(before)), dispatcher(held) {}

  HeldSession held;
  dispatch::Dispatcher dispatcher;  ///< After `held`: its attempts end before the lease does.
  std::optional<Parent> parent{};   ///< Of a child.
};

}  // namespace perdure
