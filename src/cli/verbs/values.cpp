// A number is all digits; a text is read whole, unless it has no end.

#include "verbs/values.hpp"

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
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "command/command.hpp"
#include "desk.hpp"
#include "exit.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/log.hpp"
#include "screen/screen.hpp"
#include "world.hpp"

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

Result<std::string> text_of_stdin(const World& world) {
  return world.in == nullptr ? "" : read_text(*world.in, "stdin");
}

Result<std::string> text_of_word(const std::string& value, const World& world) {
  return value == "-" ? text_of_stdin(world) : text_or_file(value, world.folder);
}

Exit exit_by(const SignalWatch& signals) {
  return signals.caught() == SIGTERM ? Exit::terminated : Exit::interrupted;
}

bool was_left(const Error& error, const SignalWatch& signals) {
  const bool had_to_wait = error.code == ErrorCode::lease_held || error.subject == "agent_changed";
  return had_to_wait && signals.caught() != 0;
}

Result<Exit> end_with_damage(Desk& desk, const SessionId& session,
                             const std::vector<Position>& places) {
  if (places.empty()) return Exit::done;
  if (desk.output().is_json()) return Exit::damaged;  // The document is all that is printed.
  desk.screen().flush();
  return fail(ErrorCode::corrupted,
              fmt::format("{} of {} cannot be read, at {}: the store is damaged, and {} says more",
                          places.size() == 1 ? "1 entry" : fmt::format("{} entries", places.size()),
                          session.text(), fmt::join(places, ", "), desk.command("check")));
}

}  // namespace perdure::cli
