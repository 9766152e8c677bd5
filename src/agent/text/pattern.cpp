// No JIT: a schema may come from a stranger, and its code must not be compiled to machine code.

#include "text/pattern.hpp"

#define PCRE2_CODE_UNIT_WIDTH 8  // NOLINT: the library's own way to choose its width.
#include <array>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <memory>
#include <pcre2.h>
#include <string>
#include <string_view>
#include <utility>

#include "core/api/text.hpp"
#include "perdure/core/error.hpp"

namespace perdure::schema {
namespace {

constexpr std::size_t pattern_bytes_max = 4096;
constexpr std::uint32_t match_heap_kib_max = 8192;

// What ECMAScript's syntax needs: `\u0041` and `\u{1F600}`, `[]` and `[^]`, a group that took no
// part matches nothing. `$` is the end of the text only.
constexpr std::uint32_t options = PCRE2_UTF | PCRE2_ALT_BSUX | PCRE2_ALLOW_EMPTY_CLASS |
                                  PCRE2_DOLLAR_ENDONLY | PCRE2_MATCH_UNSET_BACKREF |
                                  PCRE2_NEVER_BACKSLASH_C;

struct FreeData {
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};
struct FreeContext {
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
  void operator()(pcre2_compile_context* context) const { pcre2_compile_context_free(context); }
};

PCRE2_SPTR bytes_of(std::string_view text) {
  return reinterpret_cast<PCRE2_SPTR>(text.data());  // NOLINT: PCRE2's characters are unsigned.
}

std::string pcre2_words(int code) {
  std::array<PCRE2_UCHAR, 200> words{};
  pcre2_get_error_message(code, words.data(), words.size());
  return reinterpret_cast<const char*>(words.data());  // NOLINT: as above.
}

}  // namespace

struct Pattern::Code {
  struct Free {
    void operator()(pcre2_code* compiled) const { pcre2_code_free(compiled); }
  };
  std::unique_ptr<pcre2_code, Free> code;
};

Pattern::Pattern(std::string source, std::shared_ptr<const Code> code)
    : source_(std::move(source)), code_(std::move(code)) {}

Result<Pattern> Pattern::compile(std::string_view source) {
  if (source.size() > pattern_bytes_max) {
    return fail(ErrorCode::unsupported,
                fmt::format("a pattern of more than {} bytes", pattern_bytes_max));
  }
  if (!is_utf8(source)) return fail(ErrorCode::invalid_argument, "a pattern must be UTF-8");
  const std::unique_ptr<pcre2_compile_context, FreeContext> context(
      pcre2_compile_context_create(nullptr));
  if (!context) return fail(ErrorCode::unavailable, "no memory for a pattern");
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_ANYCRLF);
  pcre2_set_compile_extra_options(context.get(), PCRE2_EXTRA_ALT_BSUX);
  int error = 0;
  std::size_t offset = 0;
  pcre2_code* code =
      pcre2_compile(bytes_of(source), source.size(), options, &error, &offset, context.get());
  if (code == nullptr) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("the pattern {} cannot be used: {} (after {} bytes of it)", source,
                            pcre2_words(error), offset));
  }
  return Pattern(
      std::string(source),
      std::make_shared<const Code>(Code{.code = std::unique_ptr<pcre2_code, Code::Free>(code)}));
}

Match Pattern::find_in(std::string_view text, std::uint32_t steps) const {
  const std::unique_ptr<pcre2_match_data, FreeData> data(
      pcre2_match_data_create_from_pattern(code_->code.get(), nullptr));
  const std::unique_ptr<pcre2_match_context, FreeContext> context(
      pcre2_match_context_create(nullptr));
  if (!data || !context) return Match::too_much_work;
  pcre2_set_match_limit(context.get(), steps);
  pcre2_set_heap_limit(context.get(), match_heap_kib_max);
  const int found =
      pcre2_match(code_->code.get(), bytes_of(text), text.size(), 0, 0, data.get(), context.get());
  if (found == PCRE2_ERROR_NOMATCH) return Match::no;
  return found < 0 ? Match::too_much_work : Match::yes;
}

}  // namespace perdure::schema
