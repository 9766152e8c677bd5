// Searching: folder by folder, each opened beneath the one before. What is hidden, asked about,
// binary, too large or a link is passed over; a search that meets its limit says so.

#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "perdure/agent/permissions.hpp"
#include "perdure/agent/toolbox.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/tool.hpp"
#include "tools/args.hpp"
#include "tools/files/roots.hpp"
#include "tools/files/tools.hpp"
#include "tools/schema/pattern.hpp"
#include "tools/text_cut.hpp"

namespace perdure::files {
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

}  // namespace

ToolSpec search_tool(const SharedRoots& roots) {
  Tool tool{.name = "search_files",
            .description = "Finds the lines of files that a regular expression fits.",
            .input_schema = std::string(search_schema),
            .side_effects = SideEffects{.read = true}};
  tool.run = [roots](const CallContext& context) { return search_files(*roots, context); };
  return {.tool = std::move(tool), .path_args = roots->path_args(".")};
}

}  // namespace perdure::files
