// Keys and secrets: where they are read, and what keeps them out of logs and answers.

#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "perdure/agent/tools.hpp"
#include "perdure/core/error.hpp"

namespace perdure {

/// The environment of a program, as its caller passes it on: nothing below reads its own. The value
/// of a variable; empty: there is no such variable.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

/// A key that opens an account. It has no comparison and no way into a stream, a JSON or a stored
/// value; code that needs the bytes says `reveal()`, which a reader can search for.
class ApiKey {
 public:
  /// None: for servers that ask for none.
  ApiKey() = default;
  /// `source`: where it was read, for a person who has to look at it.
  /// Fails: `invalid_argument` for what is empty, or could not be sent in a header.
  [[nodiscard]] static Result<ApiKey> from_text(std::string text, std::string source = {});

  [[nodiscard]] bool is_none() const { return text_.empty(); }
  [[nodiscard]] const std::string& source() const { return source_; }
  /// The key itself, for the header of one request.
  [[nodiscard]] const std::string& reveal() const { return text_; }
  /// `text` without the key, wherever it is in it: for words that came from outside.
  [[nodiscard]] std::string scrub(std::string text) const;

 private:
  std::string text_;
  std::string source_;
};

/// Fails: `not_found` if there is no such variable, or it is empty; as ApiKey::from_text.
[[nodiscard]] Result<ApiKey> api_key_from_environment(const Environment& environment,
                                                      const std::string& name);

/// The file's first line. Fails: `not_found`, `unavailable` if it cannot be read; as
/// ApiKey::from_text.
[[nodiscard]] Result<ApiKey> api_key_from_file(const std::filesystem::path& path);

// Secrets in arguments: the model writes `{"secret_ref": "NAME"}`, and the tool gets the string.
//
// The model, the log and the ledger know the name. The string is read when the call is made, and is
// written nowhere. What a tool answers is searched for it, also in base64 and percent-encoded, and
// the name put in its place, before anything reads the answer.

struct SecretSpec {
  std::string name{};
  std::string variable{};  ///< Of the environment; or
  std::string file{};      ///< a file: all of it, less one line end.
};

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

/// The tool, with the secrets that `spec.secrets` names filled into its arguments and taken out of
/// what it answers. One that names none, or that its session answers, is returned as it is.
/// Fails: `invalid_argument` for a name that `secrets` does not have.
[[nodiscard]] Result<ToolSpec> with_secrets(ToolSpec spec, const Secrets& secrets);

}  // namespace perdure
