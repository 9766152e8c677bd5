// A file that is being made and has its name only when it is whole and on disk: backups,
// salvaged stores, bundles.

#pragma once

#include <string>
#include <string_view>

#include "core/api/descriptor.hpp"
#include "perdure/core/error.hpp"

namespace perdure::sqlite {

/// Its name as a part goes with this. What a killed process leaves of one is left alone: it may be
/// all that is left of something, and a file of such a name may not be ours.
class PartFile {
 public:
  /// An empty file of a name that no file had: `path`.part- and six characters of chance.
  /// Fails: `unavailable`.
  [[nodiscard]] static Result<PartFile> open_for(const std::string& path);
  ~PartFile();
  PartFile(PartFile&& other) noexcept;
  PartFile& operator=(PartFile&&) = delete;
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

  /// Fails: `unavailable`.
  [[nodiscard]] Result<void> append(std::string_view bytes) const;
  [[nodiscard]] Result<void> sync() const;

  /// Syncs it, gives it the name and syncs that as well.
  /// Fails: `already_exists` if a file has the name by now, which then stays; `unavailable`.
  [[nodiscard]] Result<void> give_name(const std::string& name) const;

 private:
  PartFile(std::string path, Descriptor file) : path_(std::move(path)), file_(std::move(file)) {}

  std::string path_;
  Descriptor file_;
};

}  // namespace perdure::sqlite
