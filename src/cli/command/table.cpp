// Looking first, then deciding, then upkeep, then the program itself.

#include "command/table.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include "command/command.hpp"

namespace perdure::cli {

const std::vector<Command>& commands() {
  static const std::vector<Command> table = {
      sessions_command(), show_command(),      config_command(),  completion_command(),
      complete_command(), reference_command(), version_command(), help_command(),
  };
  return table;
}

const Command* find_command(std::string_view name) {
  const auto found = std::ranges::find(commands(), name, &Command::name);
  return found == commands().end() ? nullptr : &*found;
}

}  // namespace perdure::cli
