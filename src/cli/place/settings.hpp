// Where the store is, and who said so: a flag, the environment, a file of the project, a file of the
// user, or nobody.
//
// What is found by walking up is obeyed only if it is ours: trust.hpp. `trusted_folders = /a:/b` in the
// user's own file says where others are trusted.
//
// A settings file has lines `key = value`; `#` begins a comment. The project's is `.perdure/config`, in the
// folder the program was started in or the nearest above it that has one; paths in it are relative to
// the folder that holds `.perdure`.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "command/command.hpp"
#include "perdure/core/error.hpp"
#include "world.hpp"

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
[[nodiscard]] Result<std::vector<Setting>> read_settings(World& world, const Invocation& given);

/// `what` is who said it. Fails: `invalid_argument` for a place that is none.
[[nodiscard]] Result<void> check_named(const std::string& place, const std::string& what);

/// The same of what was typed on a command line. Fails: `invalid_argument` also for a password.
[[nodiscard]] Result<void> check_typed(const std::string& place, const std::string& what);

/// The location of the store by what a person wrote: a folder means the file store.db in it.
[[nodiscard]] std::string location_from(const std::string& place, const std::string& base);

}  // namespace perdure::cli
