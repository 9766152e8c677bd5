// All commands, in the order in which help lists them. A verb is a file of verbs/ with a function
// that describes it, and its name here and in table.cpp.

#pragma once

// IWYU pragma: begin_exports
#include <cstddef>
#include <cstdint>
#include <expected>
#include <fmt/format.h>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "context/command_context.hpp"
#include "context/sessions.hpp"
// IWYU pragma: end_exports

namespace perdure::cli {

[[nodiscard]] const std::vector<Command>& commands();
[[nodiscard]] const Command* find_command(std::string_view name);

using Description = Command();
Description run_command, chat_command, resume_command, verify_command, sessions_command,
    show_command, timeline_command, log_command, cat_command, diff_command, checkpoints_command,
    pending_command, resolve_command, approve_command, deny_command, answer_command, pause_command,
    cancel_command, fork_command, rename_command, tag_command, check_command, doctor_command,
    backup_command, copy_command, move_command, export_command, import_command, prune_command,
    delete_command, salvage_command, demo_command, config_command, completion_command,
    complete_command, reference_command, version_command, help_command;

}  // namespace perdure::cli
