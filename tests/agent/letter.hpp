// A letter is written and sent: with a plan and notes, files, a question to whoever is in charge, and
// somebody who says something meanwhile.

#pragma once

#include <string_view>

#include "agent/task.hpp"

namespace perdure::agents {

/// A plan and a note; a file and a change to it; a step that is done, and the sending, which is asked
/// about; the rest of the plan, and another note; an answer.
[[nodiscard]] const Task& letter_task();

/// What the bystander says.
inline constexpr std::string_view bystanders_word = "She writes her name with an e.";

}  // namespace perdure::agents
