// Running first, then looking, then deciding, then upkeep, then the program itself.

#include "verbs/table.hpp"

#include <algorithm>

namespace perdure::cli {

namespace {

// What fingers type by themselves.
Command under(std::string_view alias, Command command) {
  command.name = alias;
  command.is_hidden = true;
  return command;
}

}  // namespace

const std::vector<Command>& commands() {
  static const std::vector<Command> table = {
      run_command(),
      chat_command(),
      resume_command(),
      verify_command(),
      sessions_command(),
      show_command(),
      timeline_command(),
      log_command(),
      cat_command(),
      diff_command(),
      checkpoints_command(),
      pending_command(),
      resolve_command(),
      approve_command(),
      deny_command(),
      answer_command(),
      pause_command(),
      cancel_command(),
      fork_command(),
      rename_command(),
      tag_command(),
      check_command(),
      doctor_command(),
      backup_command(),
      move_command(),
      copy_command(),
      export_command(),
      import_command(),
      prune_command(),
      delete_command(),
      salvage_command(),
      demo_command(),
      config_command(),
      completion_command(),
      complete_command(),
      reference_command(),
      version_command(),
      help_command(),
      under("ls", sessions_command()),
      under("rm", delete_command()),
  };
  return table;
}

const Command* find_command(std::string_view name) {
  const auto found = std::ranges::find(commands(), name, &Command::name);
  return found == commands().end() ? nullptr : &*found;
}

}  // namespace perdure::cli
