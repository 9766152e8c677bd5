// Reading: a file by lines, a folder by names.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <utility>

#include "perdure/agent/toolbox.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/text.hpp"
#include "perdure/runtime/tool.hpp"
#include "tools/args.hpp"
#include "tools/files/roots.hpp"
#include "tools/files/tools.hpp"
#include "tools/text_cut.hpp"

namespace perdure::files {
namespace {

constexpr std::string_view read_schema = R"({"type": "object", "additionalProperties": false,
  "required": ["path"], "properties": {
    "path": {"type": "string", "description": "Relative to the root."},
    "offset": {"type": "integer", "minimum": 1, "description": "The first line to read; 1 is the first of the file."},
    "limit": {"type": "integer", "minimum": 1, "description": "How many lines."}}})";
constexpr std::string_view list_schema = R"({"type": "object", "additionalProperties": false,
  "properties": {"path": {"type": "string", "description": "A folder, relative to the root; all of it without."}}})";

ToolOutcome error_answer(const Error& error) {
  return Succeeded{.content = error.message, .is_error = true};
}

std::size_t end_of_line(std::string_view text, std::size_t at) {
  const std::size_t found = text.find('\n', at);
  return found == std::string_view::npos ? text.size() : found + 1;
}

// Lines `first` and after, as many as fit; and what was left out.
std::string lines_of(std::string_view text, std::int64_t first, std::int64_t limit,
                     std::size_t bytes_max) {
  std::size_t begin = 0;
  std::int64_t line = 1;
  for (; line < first && begin < text.size(); ++line) begin = end_of_line(text, begin);
  std::size_t end = begin;
  std::int64_t taken = 0;
  while (end < text.size() && taken < limit) {
    const std::size_t next = end_of_line(text, end);
    if (next - begin > bytes_max) break;
    end = next;
    ++taken;
  }
  const std::int64_t all = line - 1 + std::ranges::count(text.substr(begin), '\n') +
                           (text.empty() || text.ends_with('\n') ? 0 : 1);
  if (begin >= text.size() && first > 1) return fmt::format("[the file has {} lines]", all);
  if (taken == 0 && begin < text.size()) {
    const std::string_view part = utf8_prefix(text.substr(begin), bytes_max);
    return fmt::format("{}\n[line {} is cut after {} bytes]", part, line, part.size());
  }
  std::string shown(text.substr(begin, end - begin));
  if (end == text.size()) return shown;
  return fmt::format("{}[lines {} to {} of {}; go on with offset {}]", shown, line,
                     line + taken - 1, all, line + taken);
}

ToolOutcome read_file(const Roots& roots, const Json& args) {
  const auto file = roots.open_file(text_arg(args, "path"));
  if (!file) return error_answer(file.error());
  const auto bytes = read_all(*file, roots.spec().file_bytes_max);
  if (!bytes) return error_answer(bytes.error());
  if (is_binary(*bytes)) {
    return Succeeded{fmt::format("[a binary file of {} bytes, sha256 {}]", bytes->size(),
                                 to_hex(sha256(*bytes)))};
  }
  return Succeeded{lines_of(*bytes, number_arg(args, "offset", 1),
                            number_arg(args, "limit", INT64_MAX), roots.spec().read_bytes_max)};
}

std::string line_of(const Entry& entry) {
  switch (entry.kind) {
    case Kind::file:
      return fmt::format("{} ({} bytes)\n", entry.name, entry.size);
    case Kind::folder:
      return entry.name + "/\n";
    case Kind::link:
      return entry.name + " (a link)\n";
    case Kind::other:
      return entry.name + " (no file)\n";
  }
  return {};
}

ToolOutcome list_files(const Roots& roots, const Json& args) {
  const auto entries = roots.list(text_arg(args, "path", "."));
  if (!entries) return error_answer(entries.error());
  std::string text;
  const std::size_t shown = std::min(entries->size(), roots.spec().entries_max);
  for (std::size_t i = 0; i < shown; ++i) text += line_of((*entries)[i]);
  if (shown < entries->size()) text += fmt::format("[{} more]\n", entries->size() - shown);
  return Succeeded{text.empty() ? "[the folder is empty]" : text};
}

}  // namespace

bool is_binary(std::string_view bytes) {
  return bytes.find('\0') != std::string_view::npos || !is_utf8(bytes);
}

ToolSpec read_tool(const SharedRoots& roots) {
  Tool tool{.name = "read_file",
            .description = "Reads a text file, or some lines of it.",
            .input_schema = std::string(read_schema),
            .side_effects = SideEffects{.read = true}};
  tool.run = [roots](const CallContext& context) { return read_file(*roots, context.args); };
  return {.tool = std::move(tool), .path_args = roots->path_args()};
}

ToolSpec list_tool(const SharedRoots& roots) {
  Tool tool{.name = "list_files",
            .description = "Lists what is in a folder.",
            .input_schema = std::string(list_schema),
            .side_effects = SideEffects{.read = true}};
  tool.run = [roots](const CallContext& context) { return list_files(*roots, context.args); };
  return {.tool = std::move(tool), .path_args = roots->path_args(".")};
}

}  // namespace perdure::files
