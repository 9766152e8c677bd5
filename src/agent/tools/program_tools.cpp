// Tools that run programs: what a program's end means for the call, and a sandbox for commands.

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <ios>
#include <memory>
#include <mutex>
#include <optional>
#include <ranges>
#include <set>
#include <string>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include "core/api/descriptor.hpp"
#include "core/api/wording.hpp"
#include "perdure/agent/tools.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "tools/process/program.hpp"

namespace perdure {
namespace {

namespace fs = std::filesystem;

constexpr int nothing_happened = 75;  // In this run.
constexpr int never_happens = 76;     // In no run.

std::string with_errors(std::string text, const std::string& errors) {
  if (errors.empty()) return text;
  return text + (text.empty() ? "" : "\n") + "[stderr]\n" + errors;
}

// `what`: "the program".
std::string reason_of(std::string_view what, const ProgramEnd& end) {
  constexpr std::size_t words_max = 1000;
  const std::string_view words = utf8_prefix(end.errors, words_max);
  const std::string colon = words.empty() ? "" : fmt::format(": {}", words);
  switch (end.how) {
    case ProgramEnd::How::exited:
      return fmt::format("{} ended with code {}{}", what, end.code, colon);
    case ProgramEnd::How::killed:
      return fmt::format("{} was killed by signal {}{}", what, end.code, colon);
    case ProgramEnd::How::stopped:
      return fmt::format("{} was ended before it was done{}", what, colon);
    case ProgramEnd::How::unknown:
      return fmt::format("it is unknown how {} ended{}", what, colon);
  }
  return {};
}

std::string program_name_of(const SessionId& session, Position call) {
  return fmt::format("{}#{}", session.text(), call);
}

ToolOutcome not_run(std::string_view what, const Error& error) {
  if (error.subject == "running") return Doubtful{error.message};
  return Failed{fmt::format("{}: {}", what, error.message)};
}

bool is_among(const std::vector<int>& codes, int code) {
  return std::ranges::find(codes, code) != codes.end();
}

class ExecTool {
 public:
  explicit ExecTool(ExecSpec spec)
      : spec_(std::move(spec)),
        only_reads_(effect_class_of(spec_.spec.tool) == EffectClass::read_only) {}

  [[nodiscard]] ToolOutcome run(const CallContext& context) const {
    ProgramSpec program = program_of(spec_.command, context.args,
                                     mark_for(context.key, context.session, context.call));
    add(program, "PERDURE_SESSION", context.session.text());
    add(program, "PERDURE_CALL", std::to_string(context.call));
    add(program, "PERDURE_ATTEMPT", std::to_string(context.attempt));
    add(program, "PERDURE_FENCE", std::to_string(context.fence));
    if (!context.key.empty()) add(program, "PERDURE_KEY", context.key);
    program.progress = context.progress;
    const auto end = run_program(program, context.stop);
    return end ? outcome_of(*end) : not_run("The program did not start", end.error());
  }

  [[nodiscard]] Verdict verify(const VerifyContext& context) const {
    const std::string mark = mark_for(context.key, {}, 0) + "v";
    ProgramSpec program = program_of(spec_.verify, context.args, mark);
    add(program, "PERDURE_KEY", context.key);
    add(program, "PERDURE_ATTEMPT", std::to_string(context.attempt));
    add(program, "PERDURE_DISPATCHED_AT", to_iso8601(context.dispatched_at));
    const auto end = run_program(program, context.stop);
    if (!end) return CannotTell{end.error().message};
    const bool has_exited = end->how == ProgramEnd::How::exited;
    if (has_exited && end->code == 0) return Landed{.content = end->output};
    if (has_exited && end->code == nothing_happened) return NotLanded{};
    return CannotTell{"verify: " + reason_of("the program", *end)};
  }

  [[nodiscard]] Result<void> end_leftovers(const LeftoverContext& context) const {
    const std::string mark = mark_for(context.key, context.session, context.call);
    return Leftovers(spec_.state_folder, mark).end();
  }

 private:
  // The vendor's key has a generation after the key itself: all attempts of a call have one mark.
  [[nodiscard]] std::string mark_for(const std::string& key, const SessionId& session,
                                     Position call) const {
    return mark_of(spec_.state_folder,
                   key.empty() ? program_name_of(session, call) : key.substr(0, key.find('-')));
  }
  static void add(ProgramSpec& program, std::string_view name, const std::string& value) {
    program.environment.push_back(fmt::format("{}={}", name, value));
  }

  [[nodiscard]] ProgramSpec program_of(const std::vector<std::string>& command, const Json& args,
                                       std::string mark) const {
    ProgramSpec program{.argv = command,
                        .folder = spec_.folder,
                        .input = args.text(),
                        .output_bytes_max = spec_.output_bytes_max,
                        .errors_bytes_max = spec_.errors_bytes_max,
                        .grace = spec_.grace,
                        .state_folder = spec_.state_folder,
                        .mark = std::move(mark)};
    program.environment = environment_of(program.mark, spec_.environment);
    return program;
  }

  [[nodiscard]] ToolOutcome outcome_of(const ProgramEnd& end) const {
    const bool has_exited = end.how == ProgramEnd::How::exited;
    if (has_exited && end.code == 0) return Succeeded{.content = end.output};
    if (has_exited && end.code == never_happens) {
      return Never{with_errors(end.output, end.errors)};
    }
    if (has_exited && (end.code == nothing_happened || is_among(spec_.nothing_codes, end.code))) {
      return Failed{with_errors(end.output, end.errors)};
    }
    const bool is_answer = only_reads_ || is_among(spec_.error_codes, end.code);
    if (has_exited && is_answer) {
      return Succeeded{
          .content = with_errors(fmt::format("exit code {}\n{}", end.code, end.output), end.errors),
          .is_error = true};
    }
    return Doubtful{reason_of("the program", end)};
  }

  ExecSpec spec_;
  bool only_reads_;
};

std::string problem_of(const ExecSpec& spec) {
  if (spec.command.empty()) return "its command is empty";
  if (!spec.state_folder.starts_with('/')) return "its state folder must be a whole path";
  if (!spec.folder.starts_with('/')) return "its folder must be a whole path";
  for (const auto& [name, value] : spec.environment) {
    const bool is_bad = name.empty() || name.find('=') != std::string::npos ||
                        (name + value).find('\0') != std::string::npos;
    if (is_bad) return fmt::format("its environment cannot have \"{}\"", name);
    if (name.starts_with("PERDURE_")) return fmt::format("{} is set by the dispatcher", name);
  }
  for (const int code : spec.error_codes) {
    if (is_among(spec.nothing_codes, code)) return fmt::format("code {} is declared twice", code);
  }
  for (const int code : {0, nothing_happened, never_happens}) {
    if (is_among(spec.error_codes, code) || is_among(spec.nothing_codes, code)) {
      return fmt::format("code {} has its meaning already", code);
    }
  }
  return {};
}

}  // namespace

Result<ToolSpec> make_exec_tool(ExecSpec spec) {
  const std::string name = spec.spec.tool.name;
  const auto refuse = [&](ErrorCode code, const std::string& why) {
    return fail(code, fmt::format("tool {}: {}", name, why), name);
  };
  if (const std::string problem = problem_of(spec); !problem.empty()) {
    return refuse(ErrorCode::invalid_argument, problem);
  }
  for (auto* command : {&spec.command, &spec.verify}) {
    if (command->empty()) continue;
    auto program = find_program(command->front());
    if (!program) return refuse(program.error().code, program.error().message);
    command->front() = *std::move(program);
  }
  ToolSpec made = spec.spec;
  made.path_args.folder = spec.folder;
  const bool is_verifiable = !spec.verify.empty();
  // Declared before it is asked for: the effect class follows from it.
  if (is_verifiable) spec.spec.tool.verify = [](const VerifyContext&) { return CannotTell{}; };
  // Shared by the copies that attempts make of a tool; never changed.
  const auto tool = std::make_shared<const ExecTool>(std::move(spec));
  made.tool.run = [tool](const CallContext& context) { return tool->run(context); };
  made.tool.end_leftovers = [tool](const LeftoverContext& context) {
    return tool->end_leftovers(context);
  };
  if (is_verifiable) {
    made.tool.verify = [tool](const VerifyContext& context) { return tool->verify(context); };
  }
  return made;
}

// Commands, each a program of its own, in a sandbox.
//
// The order of bubblewrap's arguments is the order of its mounts: first all of the machine,
// read-only, then what is replaced, then the roots (which may lie in what was replaced), then what
// is hidden or only read.
//
// A mount hides a file by its place, and a command that may write a folder may move the file's
// folder away: the next command would find it elsewhere. So every folder between a writable root
// and such a file is a mount of its own, and mounts cannot be moved, removed or replaced.

namespace {

bool is_beneath(const fs::path& path, const fs::path& folder) {
  const auto end = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return end.first == folder.end() && end.second != path.end();
}

bool is_in_writable_root(const fs::path& path, const std::vector<FileRoot>& roots) {
  return std::ranges::any_of(
      roots, [&](const FileRoot& root) { return root.is_writable && is_beneath(path, root.path); });
}

// Links are followed: a mount is on what is there.
std::vector<fs::path> real_paths(const std::vector<std::string>& paths) {
  std::vector<fs::path> real;
  for (const std::string& path : paths) {
    std::error_code error;
    fs::path found = fs::canonical(path, error);
    if (!error) real.push_back(std::move(found));
  }
  std::ranges::sort(real);
  real.erase(std::ranges::unique(real).begin(), real.end());
  return real;
}

class Mounts {
 public:
  explicit Mounts(const ShellSpec& spec)
      : spec_(spec), hidden_(real_paths(spec.hidden)), read_only_(real_paths(spec.read_only)) {}

  [[nodiscard]] std::vector<std::string> all() && {
    for (const FileRoot& root : spec_.roots) add_root(root);
    for (const fs::path& path : read_only_) {
      if (!is_hidden(path) && is_in_writable_root(path, spec_.roots))
        add({"--ro-bind", path.string(), path.string()});
    }
    for (const fs::path& path : hidden_) hide(path);
    return std::move(mounts_);
  }

 private:
  void add(std::vector<std::string> words) {
    mounts_.insert(mounts_.end(), words.begin(), words.end());
  }

  void add_root(const FileRoot& root) {
    add({root.is_writable ? "--bind" : "--ro-bind", root.path, root.path});
    if (!root.is_writable) return;
    std::set<fs::path> between;  // Sorted: a folder comes before what is in it.
    for (const auto* paths : {&hidden_, &read_only_}) {
      for (const fs::path& path : *paths) {
        for (fs::path at = path.parent_path(); is_beneath(at, root.path); at = at.parent_path()) {
          between.insert(at);
        }
      }
    }
    for (const fs::path& folder : between) add({"--bind", folder.string(), folder.string()});
  }

  void hide(const fs::path& path) {
    const bool is_hidden_already = std::ranges::any_of(
        hidden_, [&](const fs::path& other) { return is_beneath(path, other); });
    if (is_hidden_already) return;
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) {
      add({"--tmpfs", path.string(), "--remount-ro", path.string()});
    } else {
      add({"--ro-bind", "/dev/null", path.string()});
    }
  }

  [[nodiscard]] bool is_hidden(const fs::path& path) const {
    return std::ranges::any_of(
        hidden_, [&](const fs::path& other) { return path == other || is_beneath(path, other); });
  }

  const ShellSpec& spec_;
  std::vector<fs::path> hidden_;
  std::vector<fs::path> read_only_;
  std::vector<std::string> mounts_;
};

// bubblewrap and its arguments, then the command. `bubblewrap` is a whole path, and so are the
// roots, which no link leads to. A hidden path that is missing now is hidden by MountPlaceholders.
std::vector<std::string> sandboxed(const ShellSpec& spec, const std::string& bubblewrap,
                                   const std::vector<std::string>& command) {
  std::vector<std::string> argv = {bubblewrap};
  for (const auto word : std::string_view("--die-with-parent --new-session --unshare-pid "
                                          "--unshare-ipc --unshare-uts --unshare-cgroup-try "
                                          "--cap-drop ALL --ro-bind / / --proc /proc --dev /dev "
                                          "--tmpfs /tmp --tmpfs /run") |
                             std::views::split(' ')) {
    argv.emplace_back(word.begin(), word.end());
  }
  if (!spec.has_network) argv.emplace_back("--unshare-net");
  for (std::string& word : Mounts(spec).all()) argv.push_back(std::move(word));
  argv.insert(argv.end(), {"--chdir", spec.roots.front().path, "--"});
  argv.insert(argv.end(), command.begin(), command.end());
  return argv;
}

// Running a command takes a shared lock on the book, clearing up an exclusive one. A placeholder
// differs from a user's file by its mode, and by being empty.

// Read-only: a write by accident, which would be lost, fails.
constexpr mode_t file_rights = 0400;
constexpr mode_t folder_rights = 0500;

bool is_path_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(path, ignored));
}

bool is_folder_of_ours(const fs::path& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return false;
  std::error_code ignored;
  return (status.st_mode & 07777U) == folder_rights && fs::is_empty(path, ignored);
}

struct Missing {
  fs::path place{};  ///< The first of its folders that is not there, or it itself.
  bool is_folder = false;
};

std::optional<Missing> find_missing(const std::string& hidden, const ShellSpec& spec) {
  std::error_code error;
  if (fs::exists(hidden, error)) return std::nullopt;
  const fs::path whole = fs::weakly_canonical(hidden, error);
  if (error) return std::nullopt;
  fs::path place = whole;
  while (place.has_relative_path() &&
         (!is_path_there(place.parent_path()) || is_folder_of_ours(place.parent_path()))) {
    place = place.parent_path();
  }
  if (!is_in_writable_root(place, spec.roots)) return std::nullopt;
  return Missing{.place = place, .is_folder = place != whole};
}

int make(const Missing& missing) {
  if (missing.is_folder) {
    return ::mkdir(missing.place.c_str(), folder_rights) == 0 ? 0 : errno;
  }
  const Descriptor file(::open(missing.place.c_str(),
                               O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, file_rights));
  return file.is_open() ? 0 : errno;
}

Result<void> put_one(const Missing& missing, int book) {
  const auto cannot = [&](int error) {
    return fail(ErrorCode::unavailable,
                fmt::format("{} cannot be hidden: {}", missing.place.string(),
                            std::generic_category().message(error)));
  };
  const std::string line = missing.place.string() + '\0';
  if (::write(book, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    return cannot(errno);
  }
  const int error = make(missing);
  // Where we may not write, no command may.
  if (error == 0 || error == EACCES || error == EROFS || error == EPERM) return {};
  std::error_code ignored;
  // Another command's, since we looked. A link that leads nowhere cannot be mounted on.
  if (error == EEXIST && fs::exists(missing.place, ignored)) return {};
  return cannot(error);
}

void take_away(const std::string& place) {
  struct stat status{};
  if (::lstat(place.c_str(), &status) != 0) return;
  const mode_t rights = status.st_mode & 07777U;
  if (S_ISDIR(status.st_mode) && rights == folder_rights) ::rmdir(place.c_str());
  const bool is_ours = S_ISREG(status.st_mode) && status.st_size == 0 && rights == file_rights;
  if (is_ours) ::unlink(place.c_str());
}

Descriptor open_book(const std::string& path, int lock) {
  Descriptor book(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!book.is_open()) return book;
  while (::flock(book.get(), lock) != 0) {
    if (errno != EINTR) return {};
  }
  return book;
}

// Something to hide where there is nothing yet.
//
// A mount needs a place that is there. A hidden path that is missing would be the command's to
// make: a journal beside the store that SQLite would obey, a `.perdure` that leads the user's next
// command elsewhere. So before a command begins something empty is put there, and the mount goes
// over it.
//
// It is taken away once no command runs any more whose mounts need it: a kernel lets go of a mount
// whose place is removed, in every namespace. A book in the state folder names what was put, so
// that what a killed process left goes with the end of the next command.

class MountPlaceholders {
 public:
  /// For the hidden paths that are missing in writable roots; where writing is denied none is
  /// needed.
  /// Fails: `unavailable` if one cannot be made; then the command must not run.
  [[nodiscard]] static Result<MountPlaceholders> put(const ShellSpec& spec) {
    std::error_code ignored;  // The user of the folder reports it.
    fs::create_directories(spec.state_folder, ignored);
    const std::string path = spec.state_folder + "/stand-ins";
    Descriptor book = open_book(path, LOCK_SH);
    if (!book.is_open()) {
      return fail(ErrorCode::unavailable,
                  fmt::format("cannot write {}: {}", path, std::generic_category().message(errno)));
    }
    MountPlaceholders put(path, std::move(book));
    for (const std::string& hidden : spec.hidden) {
      const auto missing = find_missing(hidden, spec);
      if (!missing) continue;
      if (auto done = put_one(*missing, put.shared_.get()); !done) return forward(done);
      put.places_.push_back(missing->place.string());
    }
    return put;
  }

  MountPlaceholders(MountPlaceholders&& other) noexcept = default;
  MountPlaceholders& operator=(MountPlaceholders&& other) noexcept = delete;
  MountPlaceholders(const MountPlaceholders&) = delete;
  MountPlaceholders& operator=(const MountPlaceholders&) = delete;

  ~MountPlaceholders() {
    if (!shared_.is_open()) return;  // Moved from.
    shared_.close();
    const Descriptor alone = open_book(book_, LOCK_EX | LOCK_NB);
    if (!alone.is_open()) return;
    std::ifstream lines(book_, std::ios::binary);
    for (std::string place; std::getline(lines, place, '\0');) take_away(place);
    static_cast<void>(::ftruncate(alone.get(), 0));
  }

  /// What is there now in the place of what is missing: the path itself, or a folder that it would
  /// be in.
  [[nodiscard]] const std::vector<std::string>& places() const { return places_; }

 private:
  MountPlaceholders(std::string book, Descriptor shared)
      : book_(std::move(book)), shared_(std::move(shared)) {}

  std::string book_;
  std::vector<std::string> places_;
  Descriptor shared_;  ///< The book, locked as all do whose commands run.
};

constexpr std::string_view shell_schema = R"({"type": "object", "additionalProperties": false,
  "required": ["command"], "properties": {
    "command": {"type": "string", "minLength": 1, "description": "For /bin/sh."}}})";

class ShellTool {
 public:
  explicit ShellTool(ShellSpec spec) : spec_(std::move(spec)) {}

  [[nodiscard]] ToolOutcome run(const CallContext& context) const {
    if (const auto why = refusal(); !why.empty()) return Failed{why};
    const Json* command = context.args.find("command");
    if (command == nullptr || !command->is_string()) return Failed{"there is no command"};
    const std::vector<std::string> line = {"/bin/sh", "-c", *command->as_string()};
    const std::string name = program_name_of(context.session, context.call);
    if (spec_.sandbox == Sandbox::none) return outcome_of(program_of(line, name), context);
    const auto stand_ins = MountPlaceholders::put(spec_);
    if (!stand_ins) return Failed{"The command was not run: " + stand_ins.error().message};
    return outcome_of(program_of(line, name, stand_ins->places()), context);
  }

  [[nodiscard]] Result<void> end_leftovers(const LeftoverContext& context) const {
    const std::string mark =
        mark_of(spec_.programs_folder, program_name_of(context.session, context.call));
    return Leftovers(spec_.programs_folder, mark).end();
  }

 private:
  // Whether there can be a sandbox is found out with a command that does nothing; once, unless that
  // came to no end of its own.
  [[nodiscard]] std::string refusal() const {
    if (spec_.sandbox == Sandbox::none) return {};
    const std::lock_guard lock(mutex_);
    if (refusal_) return *refusal_;
    const auto found = find_program(spec_.bubblewrap);
    if (!found) return *(refusal_ = no_sandbox(found.error().message));
    const auto end = run_program(program_of({"/bin/true"}, trial_name()), {});
    const bool has_exited = end && end->how == ProgramEnd::How::exited;
    if (has_exited) return *(refusal_ = end->code == 0 ? "" : no_sandbox(end->errors));
    return fmt::format(
        "Commands are run in a sandbox only, and whether there can be one could not be found out: "
        "{}. Nothing was run; it may be called again.",
        end ? "the trial was killed" : end.error().message);
  }
  static std::string no_sandbox(const std::string& why) {
    return fmt::format(
        "Commands are run in a sandbox only, and there can be none here: {}. Nothing was run. "
        "To run commands, install bubblewrap, allow user namespaces, or write "
        "`sandbox: none`.",
        why);
  }
  // Unique to this trial: ending one ends all of its name.
  [[nodiscard]] std::string trial_name() const {
    const auto self = find_process(::getpid()).value_or(ProcessName{});
    return fmt::format("try {} {} {} {}", self.pid, self.started, self.kernel, fmt::ptr(this));
  }

  [[nodiscard]] ProgramSpec program_of(std::vector<std::string> command, const std::string& call,
                                       const std::vector<std::string>& hidden = {}) const {
    ShellSpec spec = spec_;
    spec.hidden.insert(spec.hidden.end(), hidden.begin(), hidden.end());
    ProgramSpec program{
        .argv = spec_.sandbox == Sandbox::none
                    ? std::move(command)
                    : sandboxed(spec, find_program(spec_.bubblewrap).value_or(spec_.bubblewrap),
                                command),
        .folder = spec_.roots.front().path,
        .output_bytes_max = spec_.output_bytes_max,
        .errors_bytes_max = spec_.output_bytes_max,
        .grace = spec_.grace,
        .state_folder = spec_.programs_folder,
        .mark = mark_of(spec_.programs_folder, call)};
    auto own = spec_.environment;
    own.try_emplace("HOME", program.folder);
    program.environment = environment_of(program.mark, std::move(own));
    return program;
  }

  static ToolOutcome outcome_of(ProgramSpec program, const CallContext& context) {
    program.progress = context.progress;
    const auto end = run_program(program, context.stop);
    return end ? outcome_of(*end) : not_run("The command was not run", end.error());
  }

  static ToolOutcome outcome_of(const ProgramEnd& end) {
    if (end.how != ProgramEnd::How::exited) {
      return Doubtful{reason_of("the command", {.how = end.how, .code = end.code})};
    }
    std::string text = with_errors(end.output, end.errors);
    if (end.code != 0) text = fmt::format("exit code {}\n{}", end.code, text);
    return Succeeded{.content = std::move(text), .is_error = end.code != 0};
  }

  ShellSpec spec_;
  mutable std::mutex mutex_;
  mutable std::optional<std::string> refusal_;
};

std::string problem_of(const ShellSpec& spec) {
  if (spec.roots.empty()) return "needs a root";
  for (const FileRoot& root : spec.roots) {
    if (!root.path.starts_with('/')) return "its roots must be whole paths, not " + root.path;
  }
  for (const auto* paths : {&spec.hidden, &spec.read_only}) {
    for (const std::string& path : *paths) {
      if (!path.starts_with('/')) return "what it hides must be whole paths, not " + path;
    }
  }
  if (!spec.state_folder.starts_with('/')) return "its state folder must be a whole path";
  return {};
}

}  // namespace

Result<ToolSpec> make_shell_tool(ShellSpec spec) {
  if (const auto problem = problem_of(spec); !problem.empty()) {
    return fail(ErrorCode::invalid_argument, fmt::format("tool {}: {}", spec.name, problem),
                spec.name);
  }
  if (spec.programs_folder.empty()) spec.programs_folder = spec.state_folder;
  spec.hidden.push_back(spec.state_folder);
  spec.hidden.push_back(spec.programs_folder);
  for (FileRoot& root : spec.roots) {
    std::error_code error;  // A root that is not there is missed by the first command.
    if (auto real = std::filesystem::canonical(root.path, error); !error) root.path = real.string();
  }
  Tool tool{
      .name = spec.name,
      .description = fmt::format("Runs a command of /bin/sh in {}{}.", spec.roots.front().path,
                                 spec.has_network ? "" : "; there is no network"),
      .input_schema = std::string(shell_schema),
      .side_effects =
          SideEffects{
              .read = true, .write = true, .network = spec.has_network, .mutate = spec.has_network},
      .timeout = spec.timeout};
  // Shared by the copies that attempts make of a tool.
  const auto shell = std::make_shared<const ShellTool>(std::move(spec));
  tool.run = [shell](const CallContext& context) { return shell->run(context); };
  tool.end_leftovers = [shell](const LeftoverContext& context) {
    return shell->end_leftovers(context);
  };
  return ToolSpec{.tool = std::move(tool)};
}

}  // namespace perdure
