// A misspelt field is an error, not an empty column: scripts would not notice.

#include "command/fields.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "command/command.hpp"
#include "perdure/core/error.hpp"

namespace perdure::cli {

Result<std::vector<std::string>> fields_of(const Invocation& given) {
  const auto asked = given.find("fields");
  if (!asked) return std::vector<std::string>{};
  const Command& command = *given.command;
  if (command.fields.empty()) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{} prints no list, so --fields chooses nothing", command.name));
  }
  if (!given.has("json") && !given.has("jsonl")) {
    return fail(ErrorCode::invalid_argument, "--fields is for JSON: say --json or --jsonl with it");
  }
  std::vector<std::string> fields;
  std::istringstream names(*asked);
  for (std::string name; std::getline(names, name, ',');) {
    if (std::ranges::find(command.fields, name) == command.fields.end()) {
      return fail(
          ErrorCode::invalid_argument,
          fmt::format("{} has no field {}; there are {}", command.name,
                      name.empty() ? "without a name" : name, fmt::join(command.fields, ", ")));
    }
    fields.push_back(std::move(name));
  }
  if (!fields.empty()) return fields;
  return fail(ErrorCode::invalid_argument,
              fmt::format("--fields names none; there are {}", fmt::join(command.fields, ", ")));
}

}  // namespace perdure::cli
