// All of them over one set of roots, held open.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/api/text.hpp"
#include "perdure/agent/permissions.hpp"
#include "perdure/agent/tools.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/runtime/tool.hpp"
#include "text/pattern.hpp"
#include "text/text_cut.hpp"
#include "tools/args.hpp"
#include "tools/files/replacement.hpp"
#include "tools/files/roots.hpp"

namespace perdure::files {

// What tools share lives as long as any of them, or of the copies that attempts make.
using SharedRoots = std::shared_ptr<const Roots>;

namespace {

// Whether bytes are no text: not UTF-8, or with a zero byte.
bool is_binary(std::string_view bytes) {
  return bytes.find('\0') != std::string_view::npos || !is_utf8(bytes);
}

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

}  // namespace

// Searching: folder by folder, each opened beneath the one before. What is hidden, asked about,
// binary, too large or a link is passed over; a search that meets its limit says so.

namespace {

constexpr std::string_view search_schema = R"({"type": "object", "additionalProperties": false,
  "required": ["pattern"], "properties": {
    "pattern": {"type": "string", "minLength": 1, "description": "A regular expression (PCRE2), searched for in each line."},
    "path": {"type": "string", "description": "A folder, relative to the root; everything without."},
    "files": {"type": "string", "description": "Only files that fit, such as **/*.cpp"}}})";

constexpr std::size_t files_max = 50'000;
constexpr std::size_t line_bytes_max = 300;

class Search {
 public:
  Search(const Roots& roots, schema::Pattern pattern, std::string fitting, std::stop_token stop)
      : roots_(roots),
        pattern_(std::move(pattern)),
        fitting_(std::move(fitting)),
        stop_(std::move(stop)) {}

  // A list and not recursion: folders may nest as deep as they like.
  std::string run(const std::string& start) {
    // What fits the start as well was asked about when the search was.
    for (const std::string& pattern : roots_.spec().asked) {
      if (!roots_.fits(pattern, start)) asked_.push_back(pattern);
    }
    std::vector<std::string> folders = {start};
    while (!folders.empty() && !is_over()) {
      const std::string folder = std::move(folders.back());
      folders.pop_back();
      const auto entries = roots_.list(folder);
      if (!entries) continue;
      for (const Entry& entry : *entries) visit(folder, entry, folders);
    }
    if (stop_.stop_requested()) text_ += "[stopped before the end]\n";
    if (matches_ >= roots_.spec().matches_max) text_ += "[more matches are not shown]\n";
    if (files_ >= files_max) text_ += fmt::format("[only {} files were searched]\n", files_max);
    if (passed_over_ > 0) {
      text_ += fmt::format(
          "[passed over, because they must be asked about: {}; search or read them by name]\n",
          passed_over_);
    }
    if (unclear_ > 0) text_ += fmt::format("[{} lines take too much work]\n", unclear_);
    return text_.empty() ? "[no match]" : text_;
  }

 private:
  [[nodiscard]] bool is_over() const {
    return stop_.stop_requested() || matches_ >= roots_.spec().matches_max || files_ >= files_max;
  }

  void visit(const std::string& folder, const Entry& entry, std::vector<std::string>& folders) {
    if (is_over()) return;
    const std::string path = folder == "." ? entry.name : folder + "/" + entry.name;
    if (std::ranges::any_of(asked_, [&](const auto& asked) { return roots_.fits(asked, path); })) {
      ++passed_over_;
      return;
    }
    if (entry.kind == Kind::folder) folders.push_back(path);
    if (entry.kind != Kind::file || (!fitting_.empty() && !fits_path(fitting_, path))) return;
    ++files_;
    const auto file = roots_.open_file(path);
    if (!file) return;
    const auto bytes = read_all(*file, roots_.spec().file_bytes_max);
    if (bytes && !is_binary(*bytes)) search(path, *bytes);
  }

  void search(const std::string& path, std::string_view rest) {
    for (std::size_t line = 1; !rest.empty() && !is_over(); ++line) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      const std::string_view text = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      const schema::Match found = pattern_.find_in(text);
      if (found == schema::Match::too_much_work) ++unclear_;
      if (found != schema::Match::yes) continue;
      ++matches_;
      text_ += fmt::format("{}:{}: {}\n", path, line, utf8_prefix(text, line_bytes_max));
    }
  }

  const Roots& roots_;
  schema::Pattern pattern_;
  std::string fitting_;
  std::stop_token stop_;
  std::vector<std::string> asked_{};
  std::string text_{};
  std::size_t matches_ = 0;
  std::size_t files_ = 0;
  std::size_t unclear_ = 0;
  std::size_t passed_over_ = 0;
};

ToolOutcome search_files(const Roots& roots, const CallContext& context) {
  auto pattern = schema::Pattern::compile(text_arg(context.args, "pattern"));
  if (!pattern)
    return Succeeded{.content = "the pattern: " + pattern.error().message, .is_error = true};
  const auto start = plain_path(text_arg(context.args, "path", "."));
  if (!start) return Succeeded{.content = start.error().message, .is_error = true};
  if (const auto there = roots.list(*start); !there) {
    return Succeeded{.content = there.error().message, .is_error = true};
  }
  Search search(roots, *std::move(pattern), text_arg(context.args, "files"), context.stop);
  return Succeeded{search.run(*start)};
}

ToolSpec search_tool(const SharedRoots& roots) {
  Tool tool{.name = "search_files",
            .description = "Finds the lines of files that a regular expression fits.",
            .input_schema = std::string(search_schema),
            .side_effects = SideEffects{.read = true}};
  tool.run = [roots](const CallContext& context) { return search_files(*roots, context); };
  return {.tool = std::move(tool), .path_args = roots->path_args(".")};
}

}  // namespace

// Writing: a whole file, or one place in it. Both are verifiable; what cannot be told for sure is
// left to a person.

namespace {

constexpr std::string_view write_schema = R"({"type": "object", "additionalProperties": false,
  "required": ["path", "content"], "properties": {
    "path": {"type": "string", "description": "Relative to the root; folders are made."},
    "content": {"type": "string", "description": "All that the file will hold."}}})";
constexpr std::string_view edit_schema = R"({"type": "object", "additionalProperties": false,
  "required": ["path", "old_text", "new_text"], "properties": {
    "path": {"type": "string", "description": "Relative to the root."},
    "old_text": {"type": "string", "minLength": 1, "description": "Exactly as in the file, with enough around it to be there once."},
    "new_text": {"type": "string"},
    "all": {"type": "boolean", "description": "Every place, however many there are."}}})";

std::size_t count_of(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos;
       at = text.find(part, at + part.size())) {
    ++count;
  }
  return count;
}

std::string replaced(std::string_view text, std::string_view part, std::string_view by) {
  std::string result;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part)) {
    result += text.substr(0, at);
    result += by;
    text.remove_prefix(at + part.size());
  }
  return result + std::string(text);
}

std::string written_words(std::string_view bytes) {
  return fmt::format("written: {} bytes, sha256 {}", bytes.size(), to_hex(sha256(bytes)));
}

ToolOutcome outcome_of(const Result<void>& written, std::string_view bytes) {
  if (written) return Succeeded{written_words(bytes)};
  if (written.error().subject == "unsure") return Doubtful{written.error().message};
  return Failed{written.error().message};
}

ToolOutcome write_file(const Roots& roots, const CallContext& context) {
  const std::string content = text_arg(context.args, "content");
  if (content.size() > roots.spec().file_bytes_max) return Failed{"the content is too large"};
  const auto leaf = roots.open_leaf(text_arg(context.args, "path"), true);
  if (!leaf) return Failed{leaf.error().message};
  return outcome_of(replace_file(*leaf, content, context.key), content);
}

ToolOutcome edit_file(const Roots& roots, const CallContext& context) {
  const std::string path = text_arg(context.args, "path");
  const std::string old_text = text_arg(context.args, "old_text");
  const auto leaf = roots.open_leaf(path, false);
  if (!leaf) return Failed{leaf.error().message};
  const auto file = roots.open_file(path);
  if (!file) return Failed{file.error().message};
  const auto content = read_all(*file, roots.spec().file_bytes_max);
  if (!content) return Failed{content.error().message};
  if (is_binary(*content)) return Failed{path + " is a binary file"};
  const std::size_t count = count_of(*content, old_text);
  const Json* all = context.args.find("all");
  const bool takes_all = all != nullptr && all->as_bool() == true;
  if (count == 0)
    return Failed{"old_text is not in " + path + "; read the file, and copy it exactly"};
  if (count > 1 && !takes_all) {
    return Failed{
        fmt::format("old_text is in {} {} times; give more of what is around it", path, count)};
  }
  const std::string changed = replaced(*content, old_text, text_arg(context.args, "new_text"));
  if (changed.size() > roots.spec().file_bytes_max) return Failed{"the file would be too large"};
  return outcome_of(replace_file(*leaf, changed, context.key), changed);
}

Verdict verdict_of(const Trace& trace, bool looks_done) {
  const std::string words =
      trace.content ? written_words(*trace.content) : "written, and gone since";
  if (trace.has_key) return Landed{words};
  if (trace.is_under_way) return NotLanded{};
  if (!trace.is_changed) return NotLanded{};
  if (looks_done) return Landed{words};
  return CannotTell{"the file was changed since by somebody, and does not say by whom"};
}

Result<Trace> trace(const Roots& roots, const VerifyContext& context) {
  const auto leaf = roots.open_leaf(text_arg(context.args, "path"), false);
  if (!leaf) return fail(leaf.error().code, leaf.error().message);
  return trace_of(*leaf, context.key, context.dispatched_at, roots.spec().file_bytes_max);
}

Verdict verify_write(const Roots& roots, const VerifyContext& context) {
  const auto found = trace(roots, context);
  // Without its folder there is no file; making the folder is no effect to speak of.
  if (!found && found.error().code == ErrorCode::not_found) return NotLanded{};
  if (!found) return CannotTell{found.error().message};
  return verdict_of(*found, found->content == text_arg(context.args, "content"));
}

Verdict verify_edit(const Roots& roots, const VerifyContext& context) {
  const auto found = trace(roots, context);
  if (!found) return CannotTell{found.error().message};
  const std::string new_text = text_arg(context.args, "new_text");
  const bool looks_done =
      found->content && !new_text.empty() && found->content->find(new_text) != std::string::npos &&
      found->content->find(text_arg(context.args, "old_text")) == std::string::npos;
  return verdict_of(*found, looks_done);
}

ToolSpec write_tool(const SharedRoots& roots) {
  Tool tool{.name = "write_file",
            .description = "Writes a whole file, in the place of one that is there.",
            .input_schema = std::string(write_schema),
            .side_effects = SideEffects{.write = true}};
  tool.run = [roots](const CallContext& context) { return write_file(*roots, context); };
  tool.verify = [roots](const VerifyContext& context) { return verify_write(*roots, context); };
  return {.tool = std::move(tool), .path_args = roots->path_args()};
}

ToolSpec edit_tool(const SharedRoots& roots) {
  Tool tool{.name = "edit_file",
            .description = "Replaces a piece of text in a file.",
            .input_schema = std::string(edit_schema),
            .side_effects = SideEffects{.read = true, .write = true}};
  tool.run = [roots](const CallContext& context) { return edit_file(*roots, context); };
  tool.verify = [roots](const VerifyContext& context) { return verify_edit(*roots, context); };
  return {.tool = std::move(tool), .path_args = roots->path_args()};
}

}  // namespace

}  // namespace perdure::files

namespace perdure {

Result<std::vector<ToolSpec>> make_file_tools(const FileToolsSpec& spec) {
  auto opened = files::Roots::open(spec);
  if (!opened) return forward(opened);
  const auto roots = std::make_shared<const files::Roots>(*std::move(opened));
  std::vector<ToolSpec> tools = {files::read_tool(roots), files::list_tool(roots),
                                 files::search_tool(roots)};
  if (std::ranges::any_of(spec.roots, &FileRoot::is_writable)) {
    tools.push_back(files::write_tool(roots));
    tools.push_back(files::edit_tool(roots));
  }
  return tools;
}

}  // namespace perdure
