// A folder of one test's own, gone with the object.

#pragma once

#include <cerrno>
#include <filesystem>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkdtemp is POSIX, not C++.
#include <string>
#include <system_error>

namespace perdure {

/// In memory where the system has such a place.
[[nodiscard]] inline std::filesystem::path memory_folder() {
  const std::filesystem::path memory = "/dev/shm";
  std::error_code ignored;
  const bool is_there = std::filesystem::is_directory(memory, ignored);
  return is_there ? memory : std::filesystem::temp_directory_path();
}

class TempFolder {
 public:
  TempFolder() : TempFolder(std::filesystem::temp_directory_path()) {}
  /// For tests that write much and whose rules have nothing to do with disks.
  [[nodiscard]] static TempFolder in_memory() { return TempFolder(memory_folder()); }
  explicit TempFolder(const std::filesystem::path& within) {
    std::string pattern = (within / "perdure-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) {
      throw std::system_error(errno, std::generic_category(), "no temporary folder " + pattern);
    }
    path_ = pattern;
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  /// Whatever is still open in it stays usable until closed; nothing is left behind.
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// The path of a file in it, made or not.
  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace perdure
