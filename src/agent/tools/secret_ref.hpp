// Secrets as our layers use them: `{"secret_ref": "NAME"}` in the arguments of a call, and what is
// taken out of what a tool answers.

#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/api/guarded.hpp"
#include "perdure/agent/tools.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"

namespace perdure {

/// Where a secret goes: its name; null for anything else.
[[nodiscard]] inline const std::string* secret_name(const Json& value) {
  const auto* object = value.as_object();
  if (object == nullptr || object->size() != 1) return nullptr;
  return object->front().first == "secret_ref" ? object->front().second.as_string() : nullptr;
}

/// Empty also if there is no environment. Fails: `unavailable` if it throws.
[[nodiscard]] inline Result<std::optional<std::string>> read_variable(
    const Environment& environment, const std::string& name) {
  if (!environment) return std::nullopt;
  return guarded("the environment", [&] { return environment(name); });
}

/// By name.
using SecretValues = std::map<std::string, std::string>;

/// Any number of threads may use one.
class Secrets {
 public:
  /// Fails: `invalid_argument` for two of one name, or one that is neither a variable nor a file,
  /// or both. Nothing is read.
  [[nodiscard]] static Result<Secrets> of(std::vector<SecretSpec> specs, Environment environment);

  [[nodiscard]] bool has(const std::string& name) const { return by_name_.contains(name); }
  /// The string, as it is now.
  /// Fails: `not_found` if there is none, or it is empty; `unavailable` if the environment throws.
  [[nodiscard]] Result<std::string> read(const std::string& name) const;
  /// All that are set now. Fails: `unavailable` if the environment throws.
  [[nodiscard]] Result<SecretValues> read_all() const;

 private:
  std::map<std::string, SecretSpec> by_name_;
  Environment environment_;
};

/// As the one of tools.hpp; `secrets` are checked.
[[nodiscard]] Result<ToolSpec> with_secrets(ToolSpec spec, const Secrets& secrets);

/// The tool, with secrets taken out of whatever it answers; they are asked for after each call. If
/// `values` fails or throws, the answer is withheld. One that its session answers is returned as it
/// is.
[[nodiscard]] ToolSpec without_secrets(ToolSpec spec, std::function<Result<SecretValues>()> values);

/// The text with `[secret NAME]` in the place of every secret, in all its forms. Secrets shorter
/// than 4 bytes are left: they are in every text.
[[nodiscard]] std::string scrubbed(std::string text, const SecretValues& secrets);

}  // namespace perdure
