// The process that pays an invoice, tells Ann, and dies in the middle of both.
//
// The bank and the outbox are files beside the store, a line for each charge and email. Each tool
// kills its own process at its first attempt: the world has the effect, and nothing says so yet.
//
// Its output is for a person, one line for each thing that happens: what, a tab, and the rest.

#pragma once

#include <string>

#include "perdure/core/id.hpp"

namespace invoice {

[[nodiscard]] perdure::SessionId session_id();
[[nodiscard]] std::string bank_file(const std::string& world);
[[nodiscard]] std::string outbox_file(const std::string& world);

/// How a life ends that is not cut short.
inline constexpr int exit_done = 0;
inline constexpr int exit_trouble = 1;
inline constexpr int exit_waits = 3;  ///< For somebody's decision.

/// Begins the session, or takes it up, and goes on with it as far as it can.
int run_agent(const std::string& store_path, const std::string& world);

}  // namespace invoice
