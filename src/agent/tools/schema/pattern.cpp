// No JIT: a schema may come from a stranger, and its code must not be compiled to machine code.

#include "tools/schema/pattern.hpp"

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

#include "perdure/core/error.hpp"

namespace perdure::schema {
namespace {

constexpr std::size_t pattern_bytes_max = 4096;
constexpr std::uint32_t match_heap_kib_max = 8192;

struct FreeData {
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};
struct FreeContext {
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
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
  auto translated = pcre2_of(source);
  if (!translated) return forward(translated);
  int error = 0;
  std::size_t offset = 0;
  const std::uint32_t options =
      PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_MATCH_UNSET_BACKREF | PCRE2_NEVER_BACKSLASH_C;
  pcre2_code* code =
      pcre2_compile(bytes_of(*translated), translated->size(), options, &error, &offset, nullptr);
  if (code == nullptr) {
    return fail(ErrorCode::unsupported,
                fmt::format("the pattern {} cannot be used: {}", source, pcre2_words(error)));
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
