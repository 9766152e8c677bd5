// All of Perdure in one include: stores, sessions, tools, agents.
//
// Each of these headers can be included alone, which compiles faster. Not in here: what stands in
// for another library's interface (checkpointer.hpp, saver.hpp, store_saver.hpp).

#pragma once

// IWYU pragma: begin_exports
#include "perdure/version.hpp"

// A store.
#include "perdure/store/bundle.hpp"
#include "perdure/store/copy.hpp"
#include "perdure/store/store.hpp"
#include "perdure/store/upkeep.hpp"

// Sessions under a loop of your own.
#include "perdure/runtime/history.hpp"
#include "perdure/runtime/mail.hpp"
#include "perdure/runtime/on_behalf.hpp"
#include "perdure/runtime/read.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/session.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/runtime/verify.hpp"

// Agents.
#include "perdure/agent/agent.hpp"
#include "perdure/agent/agent_file.hpp"
#include "perdure/agent/agent_parts.hpp"
#include "perdure/agent/call_check.hpp"
#include "perdure/agent/exec_tool.hpp"
#include "perdure/agent/file_tools.hpp"
#include "perdure/agent/json_schema.hpp"
#include "perdure/agent/providers.hpp"
#include "perdure/agent/secrets.hpp"
#include "perdure/agent/session_tools.hpp"
#include "perdure/agent/shell_tool.hpp"
// IWYU pragma: end_exports
