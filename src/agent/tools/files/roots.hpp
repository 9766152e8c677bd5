// The folders that file tools work in, held open: every name is looked up beneath them by the
// kernel, which follows no link on the way.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/api/descriptor.hpp"
#include "perdure/agent/tools.hpp"
#include "perdure/core/error.hpp"

namespace perdure::files {

/// A folder, and a name in it.
struct Leaf {
  Descriptor folder{};
  std::string name{};
};

enum class Kind : std::uint8_t { file, folder, link, other };

struct Entry {
  std::string name{};
  Kind kind = Kind::other;
  std::uint64_t size = 0;
};

class Roots {
 public:
  /// Fails: as make_file_tools.
  [[nodiscard]] static Result<Roots> open(FileToolsSpec spec);

  [[nodiscard]] const FileToolsSpec& spec() const { return spec_; }
  [[nodiscard]] bool is_hidden(const std::string& plain) const;
  /// Whether a pattern fits the file of that plain path by any of its names.
  [[nodiscard]] bool fits(const std::string& pattern, const std::string& plain) const;
  /// The same, or that of a folder above it.
  [[nodiscard]] bool covers(const std::string& pattern, const std::string& plain) const;
  /// For rules for paths. `otherwise`: what a path that is left out means.
  [[nodiscard]] PathArgs path_args(std::optional<std::string> otherwise = {}) const;

  // Paths as a model gives them. Each fails with words for the model: `invalid_argument` for a
  // path that is none, is hidden, or leads through a link; `not_found`; `unavailable`.

  /// A plain file, not larger than file_bytes_max.
  [[nodiscard]] Result<Descriptor> open_file(const std::string& path) const;
  [[nodiscard]] Result<Descriptor> open_folder(const std::string& path) const;
  /// The folder is made if it is not there, if `makes`. Fails also in a root that is not writable,
  /// and for what is only read.
  [[nodiscard]] Result<Leaf> open_leaf(const std::string& path, bool makes) const;
  /// "." with several roots: their names.
  [[nodiscard]] Result<std::vector<Entry>> list(const std::string& path) const;

 private:
  struct Spot {
    std::size_t root = 0;
    std::string within{};  ///< Plain, relative to the root.
    std::string plain{};
  };

  explicit Roots(FileToolsSpec spec) : spec_(std::move(spec)) {}
  [[nodiscard]] Result<Spot> spot_of(const std::string& path) const;

  FileToolsSpec spec_;
  PathPlace place_;
  std::vector<Descriptor> folders_;
};

/// Beneath an open folder. Fails: as the methods above.
[[nodiscard]] Result<Descriptor> open_beneath(const Descriptor& folder, const std::string& path,
                                              std::uint64_t flags);
/// All of a file that is open.
[[nodiscard]] Result<std::string> read_all(const Descriptor& file, std::size_t bytes_max);
/// What a folder has, by name.
[[nodiscard]] Result<std::vector<Entry>> entries_of(const Descriptor& folder);

}  // namespace perdure::files
