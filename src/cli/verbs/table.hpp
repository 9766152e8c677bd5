// All commands, in the order in which help lists them. A verb is a file of verbs/ with a function
// that describes it, and a line here and in table.cpp.

#pragma once

#include <string_view>
#include <vector>

#include "context/command_context.hpp"  // IWYU pragma: export

namespace perdure::cli {

[[nodiscard]] const std::vector<Command>& commands();
[[nodiscard]] const Command* find_command(std::string_view name);

[[nodiscard]] Command run_command();
[[nodiscard]] Command chat_command();
[[nodiscard]] Command resume_command();
[[nodiscard]] Command verify_command();
[[nodiscard]] Command sessions_command();
[[nodiscard]] Command show_command();
[[nodiscard]] Command timeline_command();
[[nodiscard]] Command log_command();
[[nodiscard]] Command cat_command();
[[nodiscard]] Command diff_command();
[[nodiscard]] Command checkpoints_command();
[[nodiscard]] Command pending_command();
[[nodiscard]] Command resolve_command();
[[nodiscard]] Command approve_command();
[[nodiscard]] Command deny_command();
[[nodiscard]] Command answer_command();
[[nodiscard]] Command pause_command();
[[nodiscard]] Command cancel_command();
[[nodiscard]] Command fork_command();
[[nodiscard]] Command rename_command();
[[nodiscard]] Command tag_command();
[[nodiscard]] Command check_command();
[[nodiscard]] Command doctor_command();
[[nodiscard]] Command backup_command();
[[nodiscard]] Command copy_command();
[[nodiscard]] Command move_command();
[[nodiscard]] Command export_command();
[[nodiscard]] Command import_command();
[[nodiscard]] Command prune_command();
[[nodiscard]] Command delete_command();
[[nodiscard]] Command salvage_command();
[[nodiscard]] Command demo_command();
[[nodiscard]] Command config_command();
[[nodiscard]] Command completion_command();
[[nodiscard]] Command complete_command();
[[nodiscard]] Command reference_command();
[[nodiscard]] Command version_command();
[[nodiscard]] Command help_command();

}  // namespace perdure::cli
