// A regular expression of PCRE2 over Unicode text, found anywhere in the text. docs/tools.md says
// where it differs from ECMAScript, which JSON Schema recommends.
//
// PCRE2 and not RE2: the schemas that people's generators write have look-aheads (zod's e-mail
// address is one), which RE2 refuses. A match that backtracks too much is given up, and says so.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "perdure/core/error.hpp"

namespace perdure::schema {

enum class Match : std::uint8_t { yes, no, too_much_work };

/// A value type; any number of threads may use one.
class Pattern {
 public:
  /// Fails: `invalid_argument` for what PCRE2 does not compile; `unsupported` for one that is too
  /// long.
  [[nodiscard]] static Result<Pattern> compile(std::string_view source);

  /// Takes `steps` of the matcher at most.
  [[nodiscard]] Match find_in(std::string_view text, std::uint32_t steps = 200'000) const;
  [[nodiscard]] const std::string& source() const { return source_; }

 private:
  struct Code;
  Pattern(std::string source, std::shared_ptr<const Code> code);

  std::string source_;
  std::shared_ptr<const Code> code_;  ///< Shared by copies; never changed.
};

}  // namespace perdure::schema
