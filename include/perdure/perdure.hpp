// All of Perdure in one include: stores, sessions, tools, agents.
//
// Each of these headers can be included alone, which compiles faster. Not included: the
// interfaces of other libraries (perdure/adapters/).

#pragma once

// IWYU pragma: begin_exports
#include "perdure/version.hpp"

// A store.
#include "perdure/store/store.hpp"
#include "perdure/store/upkeep.hpp"

// Sessions under a loop of your own.
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/tool.hpp"

// Agents.
#include "perdure/agent/agent.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/agent/tools.hpp"
// IWYU pragma: end_exports
