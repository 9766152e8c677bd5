// Values are read when they are needed: files may change.

#include "file/private_values.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "file/agent_paths.hpp"
#include "perdure/agent/agent_file.hpp"
#include "perdure/agent/agent_parts.hpp"
#include "perdure/agent/environment.hpp"
#include "perdure/agent/secrets.hpp"
#include "perdure/core/error.hpp"

namespace perdure::agent_file {
namespace {

constexpr std::size_t value_bytes_min = 8;
constexpr std::array<std::string_view, 6> telling = {"KEY",  "TOKEN",      "SECRET",
                                                     "PASS", "CREDENTIAL", "AUTH"};
constexpr std::array<std::string_view, 14> common = {
    "PATH", "HOME", "PWD",    "USER",     "LOGNAME", "SHELL", "TERM",
    "LANG", "TZ",   "TMPDIR", "HOSTNAME", "EDITOR",  "PAGER", "LANGUAGE"};

bool is_there(const std::string& value) {
  if (!value.starts_with('/')) return false;
  std::error_code ignored;  // Of a list the first.
  return std::filesystem::exists(value.substr(0, value.find(':')), ignored);
}

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

Result<SecretValues> all_of(std::vector<SecretSpec> specs, const Environment& environment) {
  const auto secrets = Secrets::of(std::move(specs), environment);
  return secrets ? secrets->read_all() : SecretValues{};
}

}  // namespace

bool is_like_a_secret(std::string_view name, const std::string& value) {
  std::string upper(name);
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return std::toupper(c); });
  if (std::ranges::any_of(
          telling, [&](std::string_view word) { return upper.find(word) != std::string::npos; })) {
    return true;
  }
  if (value.size() < value_bytes_min || std::ranges::all_of(value, is_letter)) return false;
  const bool is_common = std::ranges::find(common, name) != common.end() ||
                         name.starts_with("LC_") || name.starts_with("XDG_");
  return !is_common && !is_there(value);
}

std::function<Result<SecretValues>()> private_values(const AgentFile& file, const AgentPlace& place,
                                                     const std::vector<std::string>& pass_env) {
  const bool has_key_file = !file.model.key_file.empty();
  const SecretSpec key{.name = "model.key",
                       .variable = file.model.key_variable,
                       .file = has_key_file ? whole_path(file, file.model.key_file) : ""};
  return [secrets = whole_secrets(file), key, pass_env,
          environment = place.environment]() -> Result<SecretValues> {
    auto values = all_of({key}, environment);
    if (!values) return values;
    auto others = all_of(secrets, environment);
    if (!others) return others;
    values->merge(*others);
    for (const std::string& name : pass_env) {
      const auto value = read_variable(environment, name);
      if (!value) return fail(value.error().code, value.error().message);
      if (*value && is_like_a_secret(name, **value)) values->emplace(name, **value);
    }
    return values;
  };
}

}  // namespace perdure::agent_file
