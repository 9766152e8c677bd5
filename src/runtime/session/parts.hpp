// What a Session is made of.

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "dispatch/dispatcher.hpp"
#include "perdure/store/ownership.hpp"
#include "perdure/store/sessions.hpp"
#include "scratchpad/mirror.hpp"
#include "session/held_session.hpp"

namespace perdure {

struct SessionParts {
  SessionParts(HeldSession::World world, HeldSession::Grip grip, std::optional<Holder> before)
      : held(world, std::move(grip), std::move(before)), dispatcher(held) {}

  HeldSession held;
  dispatch::Dispatcher dispatcher;  ///< After `held`: its attempts end before the lease does.
  std::optional<Parent> parent{};   ///< Of a child.
  std::string scratch_base{};
  std::string scratch_root{};  ///< Empty: the scratchpad has no folder.
  std::unique_ptr<scratch::Mirror> mirror{};
};

}  // namespace perdure
