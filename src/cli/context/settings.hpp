// Where the store is, and who said so: a flag, the environment, a file of the project, a file of the
// user, or nobody.
//
// What is found by walking up is obeyed only if it is ours: trust.hpp. `trusted_folders = /a:/b` in the
// user's own file says where others are trusted.
//
// A settings file has lines `key = value`; `#` begins a comment. The project's is `.perdure/config`, in the
// folder the program was started in or the nearest above it that has one; paths in it are relative to
// the folder that holds `.perdure`.
//
// Whose word counts in what is found rather than named. A settings file says which store is opened, and a
// store says which agents are resumed, with the programs that they run: whoever can write either runs
// programs as us. So what is found by walking up from a folder, or at a usual place, is obeyed only if it
// belongs to us or to root and nobody else may write it; or if it lies in a folder that we said we trust.
// What a flag, a variable or our own settings name is obeyed: we named it.
//
// Who owns a thing is asked of what was opened, each part from the one above it, so that nobody can put
// something else there between the question and the use.

#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
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

class Trust {
 public:
  /// `me`: whose files are ours. No exception is made for sudo: root is told by root's files alone.
  explicit Trust(uid_t me) : me_(me) {}

  /// From now on what lies in these folders is trusted, whoever owns it.
  void add(std::vector<std::filesystem::path> folders);

  struct Found {
    std::filesystem::path path{};
    std::string
        objection{};     ///< Why it is not to be obeyed: "it belongs to eve"; empty: it may be.
    std::string text{};  ///< Of a file that may be read, and be obeyed.
  };
  /// `base`/`folder`/`name`. Empty: there is none.
  [[nodiscard]] std::optional<Found> find(const std::filesystem::path& base,
                                          std::string_view folder, std::string_view name) const;
  /// Why a store's file, one beside it, or the folder that a link to it leads to, is not to be trusted;
  /// empty: all may be, or are not there.
  [[nodiscard]] std::string objection_to_store(const std::filesystem::path& file) const;

 private:
  /// Whether others may add files to a folder in which nobody can replace another user's.
  enum class Adding : std::uint8_t { is_harmless, is_an_attack };

  [[nodiscard]] std::string objection_to(int opened, const std::filesystem::path& path,
                                         Adding adding) const;
  [[nodiscard]] bool is_trusted(const std::filesystem::path& path) const;

  uid_t me_;
  std::vector<std::filesystem::path> folders_;
};

}  // namespace perdure::cli
