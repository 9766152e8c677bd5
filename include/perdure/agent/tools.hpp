// The tools of an agent: a tool with what the checks before a call need to know (its schema, and
// which arguments are paths), and the tools there are: files, a shell in a sandbox, programs, the
// session itself.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/conversation.hpp"
#include "perdure/runtime/tool.hpp"

namespace perdure {

/// One thing that is wrong with a value, in words that its author can act on.
struct SchemaError {
  std::string at{};       ///< JSON pointer into the value; empty: the value itself.
  std::string rule{};     ///< JSON pointer into the schema: "/properties/path/type".
  std::string message{};  ///< "must be an integer, not the string \"5\"".
  bool operator==(const SchemaError&) const = default;
};

inline constexpr std::size_t schema_errors_max = 32;

/// A compiled JSON Schema: draft 2020-12, as far as tools use it (docs/tools.md). What takes too much
/// work to check is invalid, and says so. A value; any number of threads may use one.
class JsonSchema {
 public:
  /// Fails: `invalid_argument` for what is no schema, or one that refers to itself without an end;
  /// `unsupported` for keywords that would change the answer and are not known here. The message
  /// says where and what to write instead.
  [[nodiscard]] static Result<JsonSchema> compile(const Json& schema);

  /// All that is wrong, at most schema_errors_max; empty: valid. `hides_secrets`: of
  /// `{"secret_ref": NAME}` it is asked only that it may be a string (secrets.hpp).
  [[nodiscard]] std::vector<SchemaError> check(const Json& value, bool hides_secrets = false) const;

 private:
  struct Compiled;
  explicit JsonSchema(std::shared_ptr<const Compiled> compiled);

  std::shared_ptr<const Compiled> compiled_;  ///< Shared by copies; never changed.
};

/// A folder that tools work in.
struct FileRoot {
  std::string name{};  ///< Not needed if there is one root only.
  std::string path{};  ///< A whole path. It may be a link: it is the user's.
  bool is_writable = false;
};

/// What the paths of a tool are relative to. One file has several names, and a rule that fits any of
/// them fits the file. Names are compared as text: nothing is looked up.
struct PathPlace {
  std::string folder{};  ///< A whole path. Empty: a root, as for the tools for files.
  /// Relative rules are for what is in them; with several, they begin with a root's name.
  std::vector<FileRoot> roots{};
};

/// Which arguments of a tool are paths: what rules for paths look at.
struct PathArgs {
  /// JSON pointers to arguments that are paths, or lists of paths ("/path").
  std::vector<std::string> pointers{};
  /// What an argument that is left out means. Empty: that is not known, and rules that would not
  /// allow everything ask.
  std::optional<std::string> otherwise{};
  PathPlace place{};
};

/// A tool as it is given to an agent.
struct ToolSpec {
  Tool tool{};
  PathArgs path_args{};
  std::vector<std::string> secrets{};  ///< That its arguments may name (secrets.hpp).
  bool is_poll = false;     ///< Asking it the same again is what it is for: it waits, or watches.
  bool needs_word = false;  ///< A person's answer is part of it, whatever permissions say.
};

/// A tool with its schema compiled.
struct CheckedTool {
  ToolSpec spec{};
  JsonSchema schema;
};

class Toolbox {
 public:
  /// Fails: `invalid_argument` or `unsupported`, as Tools::of and JsonSchema::compile, with the
  /// tool's name; a schema must be one for objects.
  [[nodiscard]] static Result<Toolbox> of(std::vector<ToolSpec> specs);

  [[nodiscard]] const CheckedTool* find(std::string_view name) const;
  /// Sorted.
  [[nodiscard]] std::vector<std::string_view> names() const;
  /// For the runtime.
  [[nodiscard]] const Tools& tools() const { return tools_; }
  /// For the model, in the order they were given.
  [[nodiscard]] const std::vector<ToolDefinition>& definitions() const { return definitions_; }

 private:
  std::map<std::string, CheckedTool, std::less<>> by_name_;
  Tools tools_;
  std::vector<ToolDefinition> definitions_;
};

// Tools for files: read, list, search, write and edit, inside the folders that are given.
//
// Paths are relative: to the one root there is, or, with several, beginning with a root's name. No
// path leads out: not by `..`, not by a link, not by a link that is put there meanwhile. Links are
// not followed, so a path means the file that it names, and rules for paths mean what they say.
//
// write_file and edit_file replace a file in one step: a reader gets the old content or the new one,
// also after a power cut. The new file carries the call's key (an extended attribute,
// `user.perdure.key`), by which verify knows it; where the file system has no attributes, by content
// and by what changed since the call was dispatched.

struct FileToolsSpec {
  std::vector<FileRoot> roots{};
  /// Patterns as those of PermitRule: what the tools neither open, nor list, nor search, nor write.
  /// Links in whole ones are followed once, when the tools are made.
  std::vector<std::string> hidden{};
  std::vector<std::string> read_only{};  ///< Such patterns, too: what is never written.
  /// Such patterns, too: what is read only by a call that names it. A search of a folder passes it
  /// over, and says so.
  std::vector<std::string> asked{};
  std::size_t read_bytes_max = std::size_t{256} << 10U;  ///< Of one answer.
  std::size_t file_bytes_max = std::size_t{16} << 20U;   ///< Larger ones are not opened.
  std::size_t entries_max = 1000;                        ///< Of one list.
  std::size_t matches_max = 200;                         ///< Of one search.
};

/// read_file, list_files, search_files; and write_file and edit_file, if a root is writable.
/// Fails: `invalid_argument` for no root, a root that is no folder, names that are missing, doubled
/// or have a slash; `unsupported` if the kernel cannot open beneath a folder (Linux before 5.6).
[[nodiscard]] Result<std::vector<ToolSpec>> make_file_tools(const FileToolsSpec& spec);

// A shell for the model, in a sandbox (bubblewrap). The file system is read-only but for the writable
// roots; /tmp and /run are empty and its own; hidden paths are empty. Own processes, IPC and host
// name; no network unless it is allowed; no capabilities. All of it ends with us. Where the kernel
// does not allow sandboxes every call is refused, and says what to do.
//
// Any exit code is an answer. A command that was killed or ran out of time is in doubt.

enum class Sandbox : std::uint8_t { bubblewrap, none };

struct ShellSpec {
  std::string name = "shell";
  std::vector<FileRoot> roots{};  ///< Commands begin in the first. Their paths are the machine's.
  /// Whole paths, of files or folders. They are empty, and no command can move them or what they
  /// are in. One that is not there, in a writable root, is an empty file while a command runs.
  std::vector<std::string> hidden{};
  std::vector<std::string>
      read_only{};  ///< Such paths, in writable roots: never written nor moved.
  bool has_network = false;
  Sandbox sandbox = Sandbox::bubblewrap;
  std::string bubblewrap = "bwrap";  ///< A name, or a whole path.
  std::map<std::string, std::string> environment{};
  std::string state_folder{};     ///< Of this machine and user. It is hidden.
  std::string programs_folder{};  ///< As ExecSpec's state folder, and hidden; empty: the one above.
  Duration timeout{60'000};
  std::size_t output_bytes_max = std::size_t{64} << 10U;
  Duration grace{2000};
};

/// A bubblewrap that is not there or does not work is not an error here: the tool says so when it
/// is called. Fails: `invalid_argument` for no root, paths that are not whole, no state folder.
[[nodiscard]] Result<ToolSpec> make_shell_tool(ShellSpec spec);

// A tool that is a program. It gets its arguments as JSON on stdin and writes its result to stdout.
// What its exit codes mean, how it is verified and what is in its environment is in docs/tools.md;
// nothing is inherited. It runs in a session and process group of its own. When it ends, or is asked
// to, what it left running is ended; if our process dies, the next one ends it.

struct ExecSpec {
  /// Name, description, schema and declarations; the rest is filled in.
  ToolSpec spec{};
  /// A name in /usr/local/bin, /usr/bin or /bin, or a whole path; then its arguments, as they are.
  std::vector<std::string> command{};
  std::vector<std::string> verify{};  ///< Empty: it cannot be verified.
  std::map<std::string, std::string> environment{};
  std::string folder = "/";  ///< Where it runs.
  /// Where programs are on record while they run. Of this machine alone, the same for every process
  /// that may take a session up here, under any user, and another for every store: a process that
  /// takes a session up ends what its dead owner left, and nothing of the session's copy elsewhere.
  std::string state_folder{};
  std::vector<int> error_codes{};    ///< Done, and the answer is an error.
  std::vector<int> nothing_codes{};  ///< This run did nothing, as 75.
  std::size_t output_bytes_max = std::size_t{256} << 10U;
  std::size_t errors_bytes_max = std::size_t{16} << 10U;
  Duration grace{2000};  ///< Between SIGTERM and SIGKILL.
};

/// Fails: `not_found` for a program that is not there; `invalid_argument` for an empty command, a
/// bad variable, a code that is declared twice or is 0, no state folder.
[[nodiscard]] Result<ToolSpec> make_exec_tool(ExecSpec spec);

// Tools over the session itself, each answered from its state, in the commit of the outcome: a plan
// that the model was told is changed is changed, through any death.

/// plan_create, plan_show, step_update, postcondition_verify: a step is done, and a postcondition
/// satisfied, only with evidence. A plan that is not finished is replaced only with a reason.
[[nodiscard]] std::vector<ToolSpec> make_plan_tools();
/// note_write, note_read, note_list, note_delete: the scratchpad.
[[nodiscard]] std::vector<ToolSpec> make_note_tools();
/// ask_user: the session waits, durably, until a person approves the call. What they say there is
/// the answer; a refusal is one, too.
[[nodiscard]] ToolSpec make_ask_tool();

}  // namespace perdure
