// Where the store is, and what set it: a flag, the environment, a file of the project, a file of the
// user, or the default.
//
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

#include <string>
#include <vector>

#include "command/command.hpp"
#include "context/process_io.hpp"
#include "perdure/core/error.hpp"

namespace perdure::cli {

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
