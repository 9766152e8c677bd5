// Keys and secrets: where they are read, and what keeps them out of logs and answers.

#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/agent/tools.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"

namespace perdure {

/// The environment of a program, as its caller passes it on: nothing below reads its own. The value of
/// a variable; empty: there is no such variable.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

/// Empty also if there is no environment. Fails: `unavailable` if it throws.
[[nodiscard]] Result<std::optional<std::string>> read_variable(const Environment& environment,
                                                               const std::string& name);

// A key that opens an account, in a type that does not let it slip out.
//
// It has no text, no comparison and no way into a stream or a JSON; code that needs the bytes
// says `reveal()`, which a reader can search for. It is not in any value that is stored.

class ApiKey {
 public:
  /// None: for servers that ask for none.
  ApiKey() = default;
  /// `source`: where it was read, for a person who has to look at it.
  /// Fails: `invalid_argument` for what is empty, or could not stand in a header.
  [[nodiscard]] static Result<ApiKey> from_text(std::string text, std::string source = {});

  [[nodiscard]] bool is_none() const { return text_.empty(); }
  /// A variable, or a file; empty if it is not known.
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
// The name is what the model, the log and the ledger know. The string is read when the call is
// made, from the environment or a file, and is written nowhere. What a tool answers is searched
// for it, also in base64 and percent-encoded, and the name put in its place, before anything reads
// the answer.

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
  /// Fails: `not_found` if there is none, or it is empty; the message has the name and no more;
  /// `unavailable` if the environment throws.
  [[nodiscard]] Result<std::string> read(const std::string& name) const;
  /// All that are set now. Fails: `unavailable` if the environment throws.
  [[nodiscard]] Result<SecretValues> read_all() const;

 private:
  std::map<std::string, SecretSpec> by_name_;
  Environment environment_;
};

/// The tool, with the secrets that `spec.secrets` names filled into its arguments and taken out of
/// what it answers. One that names none is returned as it is; so is one that its session answers.
/// Fails: `invalid_argument` for a name that `secrets` does not have.
[[nodiscard]] Result<ToolSpec> with_secrets(ToolSpec spec, const Secrets& secrets);

/// The tool, with secrets taken out of whatever it answers; they are asked for after each call. If
/// `values` fails or throws, the answer is withheld. One that its session answers is returned as it is.
[[nodiscard]] ToolSpec without_secrets(ToolSpec spec, std::function<Result<SecretValues>()> values);

/// The text with `[secret NAME]` in the place of every secret, in the forms above. Secrets shorter
/// than 4 bytes are left: they are in every text.
[[nodiscard]] std::string scrubbed(std::string text, const SecretValues& secrets);

}  // namespace perdure
