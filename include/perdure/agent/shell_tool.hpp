// A shell for the model, in a sandbox (bubblewrap).
//
// The file system is read-only but for the writable roots; /tmp and /run are empty and its own, so
// that no socket of the machine is there; hidden paths are empty. Own processes, IPC and host
// name; no network unless it is allowed; no capabilities. All of it ends with us.
//
// What a command's exit code says is between it and the model: any code is an answer. A command
// that was killed or ran out of time is in doubt, and nobody can verify it: the tool is `unsafe`.
//
// Where the kernel does not allow sandboxes, every call is refused, and says why and what to do;
// nothing is run outside one unless the spec says `Sandbox::none`.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "perdure/agent/file_tools.hpp"
#include "perdure/agent/toolbox.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"

namespace perdure {

enum class Sandbox : std::uint8_t { bubblewrap, none };

struct ShellSpec {
  std::string name = "shell";
  /// Commands begin in the first. Paths in commands are those of the machine.
  std::vector<FileRoot> roots{};
  /// Whole paths, of files or folders. They are empty, and no command can move them or what they
  /// are in. One that is not there, in a writable root, is an empty file while a command runs.
  std::vector<std::string> hidden{};
  std::vector<std::string>
      read_only{};  ///< Such paths, in writable roots: never written nor moved.
  bool has_network = false;
  Sandbox sandbox = Sandbox::bubblewrap;
  std::string bubblewrap = "bwrap";  ///< A name, or a whole path.
  std::map<std::string, std::string> environment{};
  std::string state_folder{};     ///< Of this machine and user. It is hidden.
  std::string programs_folder{};  ///< As ExecSpec's state folder, and hidden; empty: the one above.
  Duration timeout{60'000};
  std::size_t output_bytes_max = std::size_t{64} << 10U;
  Duration grace{2000};
};

/// A bubblewrap that is not there or does not work is not an error here: the tool says so when it
/// is called. Fails: `invalid_argument` for no root, paths that are not whole, no state folder.
[[nodiscard]] Result<ToolSpec> make_shell_tool(ShellSpec spec);

}  // namespace perdure
