// The scratchpad, for the model. A note that this writes is short enough to stand in the log.

#include <fmt/format.h>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "perdure/agent/session_tools.hpp"
#include "perdure/agent/toolbox.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/scratchpad.hpp"
#include "perdure/runtime/session_answer.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/log.hpp"
#include "tools/args.hpp"
#include "tools/session/answered_tool.hpp"

namespace perdure {
namespace {

constexpr std::string_view key_schema = R"({"type": "object", "additionalProperties": false,
  "required": ["key"], "properties": {"key": {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,128}$"}}})";
constexpr std::string_view note_schema = R"({"type": "object", "additionalProperties": false,
  "required": ["key", "text"], "properties": {
    "key": {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,128}$"}, "text": {"type": "string"}}})";
constexpr std::string_view no_args_schema =
    R"({"type": "object", "additionalProperties": false, "properties": {}})";

SessionAnswer write_note(const State& /*state*/, Position /*call*/, const Json& args) {
  const std::string text = text_arg(args, "text");
  if (text.size() > scratch_inline_bytes_max) {
    return {.content = fmt::format("A note has at most {} bytes; this one has {}.",
                                   scratch_inline_bytes_max, text.size()),
            .is_error = true};
  }
  const std::string key = text_arg(args, "key");
  if (auto is_key = check_scratch_key(key); !is_key) {
    return {.content = is_key.error().message, .is_error = true};
  }
  return {.content = fmt::format("noted: {} bytes as {}", text.size(), key),
          .changes = {ScratchEntry{.key = key, .value = text}}};
}

SessionAnswer read_note(const State& state, Position /*call*/, const Json& args) {
  const auto found = state.scratchpad.values.find(text_arg(args, "key"));
  if (found == state.scratchpad.values.end()) {
    return {.content = "There is no such note; note_list names those there are.", .is_error = true};
  }
  if (const auto* text = std::get_if<std::string>(&found->second)) return {.content = *text};
  return {.content = fmt::format("[a note of {} bytes, too long to be shown here]",
                                 std::get<BlobRef>(found->second).size)};
}

SessionAnswer list_notes(const State& state, Position /*call*/, const Json& /*args*/) {
  std::string names;
  for (const auto& [key, value] : state.scratchpad.values) names += key + "\n";
  return {.content = names.empty() ? "There are no notes." : names};
}

SessionAnswer delete_note(const State& state, Position /*call*/, const Json& args) {
  const std::string key = text_arg(args, "key");
  if (!state.scratchpad.values.contains(key)) return {.content = "There is no such note."};
  return {.content = "deleted: " + key, .changes = {ScratchEntry{.key = key}}};
}

}  // namespace

std::vector<ToolSpec> make_note_tools() {
  return {
      answered_tool("note_write", "Keeps a note under a key, in the place of one that is there.",
                    note_schema, write_note),
      answered_tool("note_read", "Reads a note.", key_schema, read_note),
      answered_tool("note_list", "Names all notes.", no_args_schema, list_notes),
      answered_tool("note_delete", "Deletes a note.", key_schema, delete_note)};
}

}  // namespace perdure
