// Tools over the session itself: a plan, notes, a question to the user. Each is answered from the
// session's state, in the commit of its outcome (runtime/calls.hpp): a plan that the
// model was told is changed is changed, through any death.
//
// plan_create, plan_show, step_update, postcondition_verify: a step is done, and a
// postcondition satisfied, only with evidence. A plan that is not finished is replaced only with a
// reason.
//
// note_write, note_read, note_list, note_delete: the scratchpad.
//
// ask_user: the session waits, durably, until somebody approves the call
// (Session::approve, Mail::approve). What they say there is the answer; a refusal is one, too.

#pragma once

#include <vector>

#include "perdure/agent/toolbox.hpp"

namespace perdure {

[[nodiscard]] std::vector<ToolSpec> make_plan_tools();
[[nodiscard]] std::vector<ToolSpec> make_note_tools();
[[nodiscard]] ToolSpec make_ask_tool();

}  // namespace perdure
