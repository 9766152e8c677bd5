// The folder that mirrors a scratchpad: plain files by name, nothing else.
//
// Links are never followed, neither to read nor to write, so that nobody outside can make us
// read or change a file elsewhere. A file is written under another name, synced, and renamed: a
// reader sees the old content or the new one, and so does whoever comes after a power cut.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "perdure/core/error.hpp"

namespace perdure::scratch {

/// Tells one content of a file from a later one, without reading it.
struct Stamp {
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::int64_t changed_ns = 0;
  bool operator==(const Stamp&) const = default;
};

struct Listed {
  std::string name{};
  Stamp stamp{};
  bool is_file = false;  ///< A plain one.
};

struct Listing {
  std::vector<Listed> files{};
  /// The file system's time as the listing began: a file changed before it has a stamp that no
  /// later change can have.
  std::int64_t begun_ns = 0;
};

class Folder {
 public:
  virtual ~Folder() = default;

  /// Fails: `not_found` if the folder is no longer at its place; `unavailable`.
  [[nodiscard]] virtual Result<Listing> list() = 0;
  /// Empty: there is nothing by that name.
  /// Fails: `invalid_argument` for what is no plain file, or, about "too_large", beyond the limit;
  /// `unavailable`.
  [[nodiscard]] virtual Result<std::optional<std::string>> read(const std::string& name) = 0;
  /// Fails: `unavailable`; then the old content is there.
  [[nodiscard]] virtual Result<void> write(const std::string& name, const std::string& bytes) = 0;
  /// A file that is not there is not an error. Fails: `unavailable`.
  [[nodiscard]] virtual Result<void> remove(const std::string& name) = 0;
};

/// The folder `name` within `root`; both are made if they are not there. Locked for as long as
/// the object lives.
/// Fails: `lease_held` if another process has it; `invalid_argument` if `name` is there and no
/// folder; `unavailable`.
[[nodiscard]] Result<std::unique_ptr<Folder>> open_folder(const std::string& root,
                                                          const std::string& name);

/// What a session's folder is called; no two sessions' are alike.
[[nodiscard]] std::string folder_name(const std::string& session);

}  // namespace perdure::scratch
