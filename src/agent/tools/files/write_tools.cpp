// Writing: a whole file, or one place in it. Both are verifiable; what cannot be told for sure is
// left to a person.

#include <cstddef>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <utility>

#include "perdure/agent/toolbox.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/runtime/tool.hpp"
#include "tools/args.hpp"
#include "tools/files/replacement.hpp"
#include "tools/files/roots.hpp"
#include "tools/files/tools.hpp"

namespace perdure::files {
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

}  // namespace

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

}  // namespace perdure::files
