// What ends like an agent file is meant as one, so that a typing mistake in its name is told as such.

#include "place/path.hpp"

#include <filesystem>
#include <string>
#include <system_error>

namespace perdure::cli {

std::string whole_path(const std::string& path, const std::string& folder) {
  return (std::filesystem::path(folder) / path).lexically_normal().string();
}

bool names_agent_file(const std::string& word, const std::string& folder) {
  if (word.ends_with(".yaml") || word.ends_with(".yml")) return true;
  std::error_code ignored;
  return std::filesystem::is_regular_file(whole_path(word, folder), ignored);
}

}  // namespace perdure::cli
