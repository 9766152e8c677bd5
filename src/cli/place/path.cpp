// What ends like an agent file is meant as one, so that a typing mistake in its name is told as such.

#include "place/path.hpp"

#include <filesystem>
#include <string>
#include <system_error>

#include "perdure/core/error.hpp"

namespace perdure::cli {

std::string whole_path(const std::string& path, const std::string& folder) {
  return (std::filesystem::path(folder) / path).lexically_normal().string();
}

// An address is not repeated: it may hold a password.
Result<std::string> file_path(const std::string& file, const std::string& folder) {
  if (file.empty()) return fail(ErrorCode::invalid_argument, "no file is named: give its path");
  if (file == "-") return fail(ErrorCode::invalid_argument, "this needs a file, and - is none");
  if (file.find("://") != std::string::npos) {
    return fail(ErrorCode::invalid_argument,
                "this is about files, and that is the address of a server: give a path");
  }
  return whole_path(file, folder);
}

bool names_agent_file(const std::string& word, const std::string& folder) {
  if (word.ends_with(".yaml") || word.ends_with(".yml")) return true;
  std::error_code ignored;
  return std::filesystem::is_regular_file(whole_path(word, folder), ignored);
}

}  // namespace perdure::cli
