// The tools of an agent (docs/tools.md): what the checks before a call need to know, permissions,
// secrets in arguments, and built-in tools: files, a shell, programs, the session itself.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"

namespace perdure {

/// A folder that tools work in.
struct FileRoot {
  std::string name{};  ///< Not needed if there is one root only.
  std::string path{};  ///< A whole path. It may be a link: it is the user's.
  bool is_writable = false;
};

/// Which arguments of a tool are paths: what rules for paths look at. One file has several names,
/// and a rule that fits any of them fits it. Names are compared as text: nothing is looked up.
struct PathArgs {
  std::vector<std::string> pointers{};  ///< JSON pointers to paths, or lists of them ("/path").
  /// What a missing argument means. Empty: unknown, and rules that do not allow everything ask.
  std::optional<std::string> otherwise{};
  std::string folder{};  ///< That they are relative to, whole. Empty: a root, as for file tools.
  /// Relative rules are for what is in them; with several, they begin with a root's name.
  std::vector<FileRoot> roots{};
};

/// A tool as it is given to an agent.
struct ToolSpec {
  Tool tool{};
  PathArgs path_args{};
  std::vector<std::string> secrets{};  ///< That its arguments may name: see with_secrets.
  bool is_poll = false;     ///< It waits, or watches: identical calls in a row are not a loop.
  bool needs_word = false;  ///< A person's answer is part of it: permissions never spare it.
};

struct CheckedTool;

/// Tools with their schemas compiled. A value, shared by its copies.
class Toolbox {
 public:
  Toolbox();  ///< No tools.
  /// Fails: as Tools::of; `invalid_argument` for an invalid schema, or one that is not for objects;
  /// `unsupported` for one with keywords that would change the verdict and are not known here.
  [[nodiscard]] static Result<Toolbox> of(std::vector<ToolSpec> specs);

  /// With its schema, for check_call. Null: there is none of that name.
  [[nodiscard]] const CheckedTool* find(std::string_view name) const;
  [[nodiscard]] std::vector<std::string_view> names() const;  ///< Sorted.
  [[nodiscard]] const Tools& tools() const;                   ///< For the runtime.
  /// For the model, in the order they were given.
  [[nodiscard]] const std::vector<ToolDefinition>& definitions() const;

 private:
  struct Contents;
  explicit Toolbox(std::shared_ptr<const Contents> contents);

  std::shared_ptr<const Contents> contents_;
};

// Permissions: what an agent may do without asking, by what a tool touches, by its name, and by the
// paths in its arguments.
//
//   - deny wins: one rule that denies is enough;
//   - a rule for the tool's name comes before those for what it touches; of several that fit, and
//     of what a tool touches, the strictest counts; a tool that declares nothing is `undeclared`;
//   - a path with `ask` always asks; if every path of a call is allowed, `read` and `write` do not;
//   - a rule that asks or denies covers all that is in a folder that it fits; a path that leads out
//     of its root is denied; if rules for paths ask or deny, a call without its path asks.

struct PermitRule {
  /// For tools: a name, where `*` is any letters ("mcp__files__*"). For paths: `*` and `?` stay
  /// within a part, `**` is any parts ("src/**" is src and all below it). Relative patterns are for
  /// names within the agent's roots, absolute ones for whole paths; a path has both.
  std::string pattern{};
  Permit permit = Permit::ask;
};

struct Permissions {
  Permit read = Permit::allow;
  Permit write = Permit::ask;
  Permit network = Permit::ask;
  Permit mutate = Permit::ask;
  Permit undeclared = Permit::ask;
  std::vector<PermitRule> tools{};
  std::vector<PermitRule> paths{};
};

/// The checks before a call: the tool exists, the arguments parse and fit its schema, it is
/// permitted, it is not a loop; in that order. `deny` has a JSON text for the model, `{"error",
/// "tool", "message", …}`; `error` is `unknown_tool`, `arguments_not_json`, `invalid_arguments`,
/// `not_permitted` or `loop`. `in_a_row`: how many identical calls end with this one; the third is
/// refused. Pure.
[[nodiscard]] PermitDecision check_call(const Toolbox& tools, const Permissions& permissions,
                                        const ToolCallBlock& call, std::size_t in_a_row);

// Secrets in arguments: the model writes `{"secret_ref": "NAME"}`, and the tool gets the string,
// read when the call is made. It is written nowhere: what the tool answers is searched for it, also
// in base64 and percent-encoded, and the name put in its place.

/// The value of an environment variable; empty: it is not set. Perdure reads no environment itself.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

struct SecretSpec {
  std::string name{};
  std::string variable{};  ///< Of the environment; or
  std::string file{};      ///< a file: all of it, less one line end.
};

/// The tool, with the secrets that `spec.secrets` names filled in. One that names none, or that its
/// session answers, is returned as it is. Fails: `invalid_argument` for a name that `secrets` does
/// not have or has twice, or one that is neither a variable nor a file, or both.
[[nodiscard]] Result<ToolSpec> with_secrets(ToolSpec spec, std::vector<SecretSpec> secrets,
                                            Environment environment);

// Tools for files: read, list, search, write and edit, inside the folders that are given.
//
// Paths are relative: to the one root there is, or, with several, beginning with a root's name. No
// path leads out, and no link is followed, also not one that is put there meanwhile. Files are
// replaced in one step: a reader gets the old content or the new one, also after a power cut.

struct FileToolsSpec {
  std::vector<FileRoot> roots{};
  /// Patterns as those of PermitRule. Links in whole ones are followed once, when tools are made.
  std::vector<std::string> hidden{};     ///< Neither opened, nor listed, searched or written.
  std::vector<std::string> read_only{};  ///< Never written.
  std::vector<std::string> asked{};      ///< Passed over by a search, which says so.
  std::size_t read_bytes_max = std::size_t{256} << 10U;  ///< Of one answer.
  std::size_t file_bytes_max = std::size_t{16} << 20U;   ///< Larger ones are not opened.
  std::size_t entries_max = 1000;                        ///< Of one list.
  std::size_t matches_max = 200;                         ///< Of one search.
};

/// read_file, list_files, search_files; and write_file and edit_file, if a root is writable.
/// Fails: `invalid_argument` for no root, a root that is not a folder, names that are missing,
/// doubled or have a slash; `unsupported` before Linux 5.6, which cannot open beneath a folder.
[[nodiscard]] Result<std::vector<ToolSpec>> make_file_tools(const FileToolsSpec& spec);

// A shell for the model, in a sandbox (bubblewrap). The file system is read-only but for the
// writable roots; /tmp, /run and hidden paths are empty. Where the kernel allows no sandbox every
// call is refused, with what to do. Any exit code is an answer; a command that was killed or timed
// out is in doubt.

enum class Sandbox : std::uint8_t { bubblewrap, none };

struct ShellSpec {
  std::string name = "shell";
  std::vector<FileRoot> roots{};  ///< Commands begin in the first. Their paths are the machine's.
  std::vector<std::string> hidden{};     ///< Whole paths: empty for it, and never moved.
  std::vector<std::string> read_only{};  ///< The same, in writable roots: never written or moved.
  bool has_network = false;
  Sandbox sandbox = Sandbox::bubblewrap;
  std::string bubblewrap = "bwrap";  ///< A name, or a whole path.
  std::map<std::string, std::string> environment{};
  std::string state_folder{};     ///< As ExecSpec's. It is hidden.
  std::string programs_folder{};  ///< As ExecSpec's state folder, and hidden; empty: the one above.
  Duration timeout{60'000};
  std::size_t output_bytes_max = std::size_t{64} << 10U;
  Duration grace{2000};
};

/// A missing bubblewrap is not an error here: the tool says so when it is called.
/// Fails: `invalid_argument` for no root, paths that are not whole, no state folder.
[[nodiscard]] Result<ToolSpec> make_shell_tool(ShellSpec spec);

// A tool that is a program. It gets its arguments as JSON on stdin and writes its result to stdout;
// docs/tools.md has its exit codes, how it is verified, and its environment: nothing is inherited.
// When it ends, what it left running is ended; if our process dies, the next one ends it.

struct ExecSpec {
  /// Name, description, schema and declarations; the rest is filled in.
  ToolSpec spec{};
  /// A name in /usr/local/bin, /usr/bin or /bin, or a whole path; then its arguments, as they are.
  std::vector<std::string> command{};
  std::vector<std::string> verify{};  ///< Empty: it cannot be verified.
  std::map<std::string, std::string> environment{};
  std::string folder = "/";  ///< Where it runs.
  /// Where programs are recorded while they run: the same folder for every process of this machine
  /// that may take a session up, another for every store.
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

// Tools over the session itself, each answered from its state, in the commit of its outcome.

/// plan_create, plan_show, step_update, postcondition_verify: a step is done, and a postcondition
/// satisfied, only with evidence. A plan that is not finished is replaced only with a reason.
[[nodiscard]] std::vector<ToolSpec> make_plan_tools();
/// note_write, note_read, note_list, note_delete: the scratchpad.
[[nodiscard]] std::vector<ToolSpec> make_note_tools();
/// ask_user: the session waits, durably, until a person approves the call. What they say there is
/// the answer; a refusal is one, too.
[[nodiscard]] ToolSpec make_ask_tool();

}  // namespace perdure
