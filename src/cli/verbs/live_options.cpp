// Options that mean the same for every verb that runs an agent.

#include "verbs/live_options.hpp"

#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "command/command.hpp"
#include "core/api/text.hpp"
#include "perdure/core/error.hpp"

namespace perdure::cli {

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
          {.name = "accept-agent",
           .summary = "Go on with the agent that the session had in the bundle it came out of"},
          {.name = "accept-changes", .summary = "Go on although the agent is not as it was"},
          {.name = "accept-damage",
           .summary = "Go on although entries are damaged: the model is asked without them"},
          {.name = "wait",
           .value = "TIME",
           .summary = "How long to wait for another process that runs it, like 30s"}};
}

Result<std::optional<std::int64_t>> dollars_option(const Invocation& given, std::string_view name) {
  const auto text = given.find(name);
  if (!text) return std::nullopt;
  if (const auto micros = micros_from_dollars(*text)) return micros;
  return fail(ErrorCode::invalid_argument,
              fmt::format("--{} is an amount of dollars, like 2.50, not {}", name, *text));
}

}  // namespace perdure::cli
