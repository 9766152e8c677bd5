// What the program is started with: streams, terminal, environment, time and identity; and its settings.
//
// A setting comes from a flag, the environment, a file of the project, a file of the user, or is the default.
// A settings file has lines `key = value`; `#` begins a comment. The project's is `.perdure/config`, in the
// folder the program was started in or the nearest above it that has one; paths in it are relative to
// the folder that holds `.perdure`.
//
// A settings file says which store is opened, and a store says which agents are resumed, with the programs
// that they run: who can write either runs programs as us. So what is found by walking up from a folder,
// or at a usual place, is used only if it belongs to us or to root and no other user may write it, or if
// it is in a folder that the user's own file trusts: `trusted_folders = /a:/b`. What a flag, a variable or
// our own settings name is used: we named it.
//
// The owner is checked on the opened file, each part from the one above it, so that nothing can be put
// there between the check and the use.

#pragma once

// IWYU pragma: begin_exports
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <unistd.h>
#include <vector>

#include "command/command.hpp"
#include "perdure/agent/tools.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
// IWYU pragma: end_exports

namespace perdure::cli {

class SignalWatch;

/// The subject of errors that are about `ProcessIo::out`.
inline constexpr std::string_view output_subject = "stdout";

struct ProcessIo {
  std::ostream& out;  ///< Data.
  std::ostream& err;  ///< Talk.
  bool is_out_terminal = false;
  bool is_err_terminal = false;
  bool is_in_terminal = false;
  int columns = 80;                        ///< Of the terminal.
  std::function<int()> measure_columns{};  ///< As they are now; none: they stay.
  Environment environment{};
  std::string folder{};                                    ///< Where it was started.
  std::string user{};                                      ///< Who decides.
  uid_t user_id = ::geteuid();                             ///< Whose files are ours.
  std::function<std::optional<std::string>()> ask_line{};  ///< A line typed at the terminal.
  std::istream* in = nullptr;                              ///< Stdin.
  SignalWatch* signals = nullptr;  ///< Ctrl-C and its like; none: they do what they do anyway.
  bool is_output_told = false;     ///< It was reported that `out` cannot be written.
  Clock* clock = &system_clock();
  IdSource* ids = &random_ids();
};

struct Setting {
  std::string key{};
  std::string value{};
  std::string origin{};     ///< "--store", "PERDURE_STORE", the path of a file, or "default".
  std::string objection{};  ///< Why the store is not to be opened: it is another user's.
};

/// All settings with the value that counts. The store's is a location as open_store takes it.
/// Fails: `invalid_argument` for a store that is not named, and for a file that cannot be understood,
/// with its line.
/// What is found and not obeyed is named on stderr.
[[nodiscard]] Result<std::vector<Setting>> read_settings(ProcessIo& io, const Invocation& given);

/// `what` is who said it. Fails: `invalid_argument` for a place that is none.
[[nodiscard]] Result<void> check_named(const std::string& place, const std::string& what);

/// The same of what was typed on a command line. Fails: `invalid_argument` also for a password.
[[nodiscard]] Result<void> check_typed(const std::string& place, const std::string& what);

/// The location of the store by what a person wrote: a folder means the file store.db in it.
[[nodiscard]] std::string location_from(const std::string& place, const std::string& base);

}  // namespace perdure::cli
