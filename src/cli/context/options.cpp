// A number is all digits; a text is read whole, unless it has no end. A word with the suffix of an agent
// file means one, so that a mistake in its name is reported as such.

#include "context/options.hpp"

#include <array>
#include <charconv>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <ios>
#include <istream>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "context/command_context.hpp"
#include "core/api/text.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/log.hpp"

namespace perdure::cli {
namespace {

Result<std::string> read_text(std::istream& from, const std::string& name) {
  std::string text;
  std::array<char, std::size_t{1} << 16U> room{};
  while (from.read(room.data(), room.size()), from.gcount() > 0) {
    text.append(room.data(), static_cast<std::size_t>(from.gcount()));
    if (text.size() <= body_bytes_max) continue;
    return fail(ErrorCode::invalid_argument,
                fmt::format("{} has more than {} MiB, which is the most that a session keeps as "
                            "one text",
                            name, body_bytes_max >> 20U));
  }
  return text;
}

}  // namespace

Result<std::int64_t> number_option(const Invocation& given, std::string_view name,
                                   std::int64_t otherwise) {
  const auto text = given.find(name);
  if (!text) return otherwise;
  std::int64_t number = 0;
  const char* end = text->data() + text->size();
  const auto [rest, error] = std::from_chars(text->data(), end, number);
  if (error == std::errc() && rest == end && number > 0) return number;
  return fail(ErrorCode::invalid_argument,
              fmt::format("--{} is a number above 0, not {}", name, *text));
}

Result<std::string> text_or_file(const std::string& value, const std::string& folder) {
  if (!value.starts_with('@')) return value;
  const std::filesystem::path path = std::filesystem::path(folder) / value.substr(1);
  std::ifstream file(path, std::ios::binary);
  std::error_code ignored;  // A pipe is as good as a file, a folder is not.
  if (!file || std::filesystem::is_directory(path, ignored)) {
    return fail(ErrorCode::not_found, fmt::format("{} cannot be read", path.string()));
  }
  return read_text(file, path.string());
}

Result<std::string> text_of_stdin(const ProcessIo& io) {
  return io.in == nullptr ? "" : read_text(*io.in, "stdin");
}

Result<std::string> text_of_word(const std::string& value, const ProcessIo& io) {
  return value == "-" ? text_of_stdin(io) : text_or_file(value, io.folder);
}

Exit exit_by(const SignalWatch& signals) {
  return signals.caught() == SIGTERM ? Exit::terminated : Exit::interrupted;
}

bool was_left(const Error& error, const SignalWatch& signals) {
  const bool had_to_wait = error.code == ErrorCode::lease_held || error.subject == "agent_changed";
  return had_to_wait && signals.caught() != 0;
}

Result<Exit> end_with_damage(CommandContext& context, const SessionId& session,
                             const std::vector<Position>& places) {
  if (places.empty()) return Exit::done;
  if (context.output().is_json()) return Exit::damaged;  // The document is all that is printed.
  context.screen().flush();
  return fail(ErrorCode::corrupted,
              fmt::format("{} of {} cannot be read, at {}: the store is damaged, and {} says more",
                          places.size() == 1 ? "1 entry" : fmt::format("{} entries", places.size()),
                          session.text(), fmt::join(places, ", "), context.command("check")));
}

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
          {.name = "accept-agent", .summary = "Resume with the agent that the bundle named"},
          {.name = "accept-changes", .summary = "Resume even if the agent file has changed"},
          {.name = "accept-damage",
           .summary = "Resume although entries are damaged: the model does not see them"},
          {.name = "wait",
           .value = "TIME",
           .summary = "How long to wait while another process runs it, like 30s"}};
}

Result<std::optional<std::int64_t>> dollars_option(const Invocation& given, std::string_view name) {
  const auto text = given.find(name);
  if (!text) return std::nullopt;
  if (const auto micros = micros_from_dollars(*text)) return micros;
  return fail(ErrorCode::invalid_argument,
              fmt::format("--{} is an amount of dollars, like 2.50, not {}", name, *text));
}

std::string whole_path(const std::string& path, const std::string& folder) {
  return (std::filesystem::path(folder) / path).lexically_normal().string();
}

// An address is not repeated: it may hold a password.
Result<std::string> file_path(const std::string& file, const std::string& folder) {
  if (file.empty()) return fail(ErrorCode::invalid_argument, "no file is named: give its path");
  if (file == "-") return fail(ErrorCode::invalid_argument, "this needs a file, and - is none");
  if (file.find("://") != std::string::npos) {
    return fail(ErrorCode::invalid_argument,
                "this is about files, and that is the address of a server: give a path");
  }
  return whole_path(file, folder);
}

bool names_agent_file(const std::string& word, const std::string& folder) {
  if (word.ends_with(".yaml") || word.ends_with(".yml")) return true;
  std::error_code ignored;
  return std::filesystem::is_regular_file(whole_path(word, folder), ignored);
}

}  // namespace perdure::cli
