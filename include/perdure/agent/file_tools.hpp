// Built-in tools for files: read, list, search, write and edit, inside the folders that are given.
//
// Paths are relative: to the one root there is, or, with several, beginning with a root's name. No
// path leads out: not by `..`, not by a link, not by a link that is put there meanwhile. Links are
// not followed at all, so a path means the file that it names, and rules for paths mean what they
// say.
//
// write_file and edit_file replace a file in one step: whoever reads it gets the old content or the
// new one, also after a power cut. The new file carries the call's key (an extended attribute,
// `user.perdure.key`), by which verify knows it; where the file system has no attributes, by
// content and by what changed since the call was dispatched. What cannot be told is said to be so.

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "perdure/agent/file_root.hpp"
#include "perdure/agent/toolbox.hpp"
#include "perdure/core/error.hpp"

namespace perdure {

struct FileToolsSpec {
  std::vector<FileRoot> roots{};
  /// Patterns as those of PermitRule: what the tools neither open, nor list, nor search, nor write.
  /// For paths that are denied, and whatever a model must not see. Whole ones are for whole paths;
  /// links in them are followed once, when the tools are made.
  std::vector<std::string> hidden{};
  /// Such patterns, too: what is read and never written.
  std::vector<std::string> read_only{};
  /// Such patterns, too: what is read only by a call that names it. A search of a folder passes it
  /// over, and says so. For paths that are asked about, which permissions do when a call names them.
  std::vector<std::string> asked{};
  std::size_t read_bytes_max = std::size_t{256} << 10U;  ///< Of one answer.
  std::size_t file_bytes_max = std::size_t{16} << 20U;   ///< Larger ones are not opened.
  std::size_t entries_max = 1000;                        ///< Of one list.
  std::size_t matches_max = 200;                         ///< Of one search.
};

/// read_file, list_files, search_files; and write_file and edit_file, if a root is writable.
/// Fails: `invalid_argument` for no root, a root that is no folder, names that are missing, doubled
/// or have a slash; `unsupported` if the kernel cannot open beneath a folder (Linux before 5.6).
[[nodiscard]] Result<std::vector<ToolSpec>> make_file_tools(const FileToolsSpec& spec);

}  // namespace perdure
