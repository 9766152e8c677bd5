// A number is all digits; a file is read whole.

#include "verbs/values.hpp"

#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>

#include "command/command.hpp"
#include "perdure/core/error.hpp"

namespace perdure::cli {

Result<std::int64_t> number_option(const Invocation& given, std::string_view name,
                                   std::int64_t otherwise) {
  const auto text = given.find(name);
  if (!text) return otherwise;
  std::int64_t number = 0;
  const char* end = text->data() + text->size();
  const auto [rest, error] = std::from_chars(text->data(), end, number);
  if (error == std::errc() && rest == end && number > 0) return number;
  return fail(ErrorCode::invalid_argument,
              fmt::format("--{} is a number above 0, not {}", name, *text));
}

Result<std::string> text_or_file(const std::string& value, const std::string& folder) {
  if (!value.starts_with('@')) return value;
  const std::filesystem::path path = std::filesystem::path(folder) / value.substr(1);
  std::ifstream file(path, std::ios::binary);
  std::error_code ignored;  // A pipe is as good as a file, a folder is not.
  if (!file || std::filesystem::is_directory(path, ignored)) {
    return fail(ErrorCode::not_found, fmt::format("{} cannot be read", path.string()));
  }
  return std::string(std::istreambuf_iterator<char>(file), {});
}

}  // namespace perdure::cli
