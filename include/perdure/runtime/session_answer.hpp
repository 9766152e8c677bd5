// A call that its own session answers: a plan that is changed, a note that is kept, a question
// that somebody has answered.
//
// Nothing happens elsewhere, so nothing can be in doubt: the answer is worked out from the state
// when the outcome is recorded, and what it changes is in the same commit. After a death before
// that it is worked out anew.

#pragma once

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "perdure/core/json.hpp"
#include "perdure/runtime/plan.hpp"
#include "perdure/runtime/scratchpad.hpp"
#include "perdure/store/log.hpp"

namespace perdure {

struct State;

/// A plan in the place of the one there is; a note that is set or removed, of text up to
/// scratch_inline_bytes_max.
using SessionChange = std::variant<Plan, ScratchEntry>;

struct SessionAnswer {
  std::string content{};
  bool is_error = false;
  std::vector<SessionChange> changes{};
};

/// Pure: the same state gets the same answer. Asked again at will. Throwing is an answer of an error.
using AnswerFunction =
    std::function<SessionAnswer(const State& state, Position call, const Json& args)>;

}  // namespace perdure
