// Asking for a call: claimed for the asker, or what became of it for whoever asked before.

#pragma once

#include "checkpointer/held_log.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/checkpointer.hpp"
#include "perdure/store/store.hpp"

namespace perdure::checkpointing {

/// Fails: as Checkpointer::record_tool_call_issued.
[[nodiscard]] Result<Checkpointer::Issued> issue(Store& store, HeldLog& held,
                                                 const Checkpointer::ToolCall& call);

}  // namespace perdure::checkpointing
