// What a file that was being made may have left beside its name.

#pragma once

#include <algorithm>
#include <filesystem>
#include <string>

namespace perdure {

/// Whether a part of the file lies there, whole or not.
[[nodiscard]] inline bool has_parts(const std::filesystem::path& file) {
  const std::string begin = file.filename().string() + ".part";
  return std::ranges::any_of(
      std::filesystem::directory_iterator(file.parent_path()),
      [&](const auto& each) { return each.path().filename().string().starts_with(begin); });
}

}  // namespace perdure
