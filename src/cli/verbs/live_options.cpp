// Money is read digit by digit: a binary fraction would not be what was written.

#include "verbs/live_options.hpp"

#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "command/command.hpp"
#include "perdure/core/error.hpp"

namespace perdure::cli {
namespace {

constexpr std::size_t micros_digits = 6;
constexpr std::size_t dollars_digits_max = 9;

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::optional<std::int64_t> micros_from(std::string_view text) {
  const auto dot = text.find('.');
  const std::string_view whole = text.substr(0, dot);
  std::string fraction(dot == std::string_view::npos ? "0" : text.substr(dot + 1));
  if (!is_digits(whole) || whole.size() > dollars_digits_max) return std::nullopt;
  if (!is_digits(fraction) || fraction.size() > micros_digits) return std::nullopt;
  fraction.append(micros_digits - fraction.size(), '0');
  return std::stoll(std::string(whole) + fraction);
}

}  // namespace

std::vector<Option> model_options() {
  return {{.name = "model", .value = "M", .summary = "The model, instead of the file's"},
          {.name = "provider",
           .value = "WHO",
           .summary = "Whose model: anthropic, openai (and all that speak like it), or scripted "
                      "(then M is a script)",
           .choices = {"anthropic", "openai", "scripted"}},
          {.name = "base-url",
           .value = "URL",
           .summary = "Where the model's server is; with --model else OPENAI_BASE_URL or "
                      "ANTHROPIC_BASE_URL"},
          {.name = "budget", .value = "DOLLARS", .summary = "The most the session may spend"}};
}

std::vector<Option> take_up_options() {
  return {{.name = "agent",
           .value = "FILE",
           .summary = "The session's agent file, instead of the one it remembers",
           .by = Completes::file},
          {.name = "accept-changes", .summary = "Go on although the agent is not as it was"},
          {.name = "wait",
           .value = "TIME",
           .summary = "How long to wait for another process that runs it, like 30s"}};
}

Result<std::optional<std::int64_t>> dollars_option(const Invocation& given, std::string_view name) {
  const auto text = given.find(name);
  if (!text) return std::nullopt;
  if (const auto micros = micros_from(*text)) return micros;
  return fail(ErrorCode::invalid_argument,
              fmt::format("--{} is an amount of dollars, like 2.50, not {}", name, *text));
}

}  // namespace perdure::cli
