// A key that opens an account, in a type that does not let it slip out.
//
// It has no text, no comparison and no way into a stream or a JSON; whoever needs the bytes
// says `reveal()`, which a reader can search for. It is not in any value that is stored.

#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "perdure/agent/environment.hpp"
#include "perdure/core/error.hpp"

namespace perdure {

class ApiKey {
 public:
  /// None: for servers that ask for none.
  ApiKey() = default;
  /// `source`: where it was read, for whoever has to look at it.
  /// Fails: `invalid_argument` for what is empty, or could not stand in a header.
  [[nodiscard]] static Result<ApiKey> from_text(std::string text, std::string source = {});

  [[nodiscard]] bool is_none() const { return text_.empty(); }
  /// A variable, or a file; empty if nobody said.
  [[nodiscard]] const std::string& source() const { return source_; }
  /// The key itself, for the header of one request.
  [[nodiscard]] const std::string& reveal() const { return text_; }
  /// `text` without the key, wherever it stands in it: for words that came from outside.
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

}  // namespace perdure
