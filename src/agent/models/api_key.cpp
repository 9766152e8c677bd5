// Keys, from where people keep them.

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "core/api/guarded.hpp"
#include "perdure/agent/secrets.hpp"
#include "perdure/core/error.hpp"

namespace perdure {
namespace {

std::string without_spaces_around(std::string text) {
  constexpr const char* spaces = " \t\r\n";
  text.erase(0, text.find_first_not_of(spaces));
  text.erase(text.find_last_not_of(spaces) + 1);
  return text;
}

bool is_printable(char c) { return c > ' ' && c < '\x7f'; }

}  // namespace

Result<ApiKey> ApiKey::from_text(std::string text, std::string source) {
  ApiKey key;
  key.source_ = std::move(source);
  key.text_ = without_spaces_around(std::move(text));
  if (key.text_.empty()) return fail(ErrorCode::invalid_argument, "the key is empty");
  if (!std::ranges::all_of(key.text_, is_printable)) {
    return fail(ErrorCode::invalid_argument, "the key has characters that no key has");
  }
  return key;
}

std::string ApiKey::scrub(std::string text) const {
  if (text_.empty()) return text;
  for (std::size_t at = text.find(text_); at != std::string::npos; at = text.find(text_, at)) {
    text.replace(at, text_.size(), "[key]");
    at += 5;
  }
  return text;
}

Result<std::optional<std::string>> read_variable(const Environment& environment,
                                                 const std::string& name) {
  if (!environment) return std::nullopt;
  return guarded("the environment", [&] { return environment(name); });
}

Result<ApiKey> api_key_from_environment(const Environment& environment, const std::string& name) {
  auto read = read_variable(environment, name);
  if (!read) return forward(read);
  std::optional<std::string>& found = *read;
  if (!found || found->empty()) {
    return fail(ErrorCode::not_found, "the environment has no " + name + "; set it to your key",
                name);
  }
  auto key = ApiKey::from_text(*std::move(found), name);
  if (!key) return fail(key.error().code, key.error().message + " (from " + name + ")", name);
  return key;
}

Result<ApiKey> api_key_from_file(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return fail(ErrorCode::not_found, "there is no key file " + path.string(), path.string());
  }
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) {
    return fail(ErrorCode::unavailable, "cannot read a key from " + path.string(), path.string());
  }
  auto key = ApiKey::from_text(std::move(line), path.string());
  if (!key) return fail(key.error().code, key.error().message + " (from " + path.string() + ")");
  return key;
}

}  // namespace perdure
