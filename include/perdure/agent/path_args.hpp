// Which arguments of a tool are paths, and what they are relative to: what rules for paths look at.
//
// One file has several names: `secret/a` in a root, `../secret/a` from another folder, its whole
// path. A rule that fits any of them fits the file. Names are compared as text, once `.`, `..` and
// doubled slashes are gone; nothing is looked up, so a link is a name of its own.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "perdure/agent/file_root.hpp"
#include "perdure/core/error.hpp"

namespace perdure {

struct PathPlace {
  /// What relative paths are relative to: a whole path. Empty: to a root, as those of file tools.
  std::string folder{};
  /// Relative rules are for what is in them; with several, they begin with a root's name.
  std::vector<FileRoot> roots{};
};

struct PathArgs {
  /// JSON pointers to arguments that are paths, or lists of paths ("/path").
  std::vector<std::string> pointers{};
  /// What an argument that is left out means. Without it nobody knows, and rules that would not
  /// allow everything ask.
  std::optional<std::string> otherwise{};
  PathPlace place{};
};

/// The roots as rules name them: a single one has no name, and one that is a link counts by its real
/// path as well.
[[nodiscard]] std::vector<FileRoot> named_roots(std::vector<FileRoot> roots);

/// All plain names of a path. One that is in no root counts by its name in `folder`, and by its whole
/// one.
/// Fails: `invalid_argument` as plain_path, and for a relative path that leads out of the roots and
/// of the folder.
[[nodiscard]] Result<std::vector<std::string>> path_names(const std::string& path,
                                                          const PathPlace& place);

}  // namespace perdure
