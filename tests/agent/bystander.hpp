// Somebody besides the agent: says one thing while it works, and gives the word that it asks for.
// Both by mail, under ids that are the same in every process: said again, it counts once. So a
// word that was given and forgotten is missed for ever, and seen.

#pragma once

#include <fmt/format.h>
#include <set>
#include <string>
#include <utility>

#include "agent/letter.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"

namespace perdure::agents {

/// One thread at a time.
class Bystander {
 public:
  /// `store` must outlive it.
  Bystander(Store& store, SessionId session) : mail_(store, std::move(session)) {}

  /// Once for each process that is told anything.
  void speak() {
    if (std::exchange(has_spoken_, true)) return;
    said_ = mail_.say(MessageId::parse("word").value(), user_says(std::string(bystanders_word)));
  }
  /// Whether it could speak.
  [[nodiscard]] const Result<void>& said() const { return said_; }

  /// Fails: `conflict` if it was asked before, by this process.
  [[nodiscard]] Result<void> approve(Position call) {
    if (!approved_.insert(call).second) {
      return fail(ErrorCode::conflict, fmt::format("call {} is asked about again", call));
    }
    const auto id = MessageId::parse(fmt::format("approval-{}", call)).value();
    return mail_.approve(id, call, true, "a bystander", "it is a good letter");
  }

 private:
  Mail mail_;
  bool has_spoken_ = false;
  Result<void> said_{};
  std::set<Position> approved_;
};

}  // namespace perdure::agents
