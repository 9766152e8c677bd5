// Tools for files, over roots that are held open: every name is looked up beneath them by the
// kernel, which follows no link on the way.
//
// openat2 with RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS does what no check before an open can: there
// is no moment between them.

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <dirent.h>
#include <expected>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <memory>
#include <optional>
#include <stdio.h>
#include <stop_token>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include "core/api/descriptor.hpp"
#include "core/api/text.hpp"
#include "core/api/wording.hpp"
#include "perdure/agent/tools.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/tool.hpp"
#include "text/pattern.hpp"
#include "tools/check/paths.hpp"

namespace perdure::files {
namespace {

/// A folder, and a name in it.
struct Leaf {
  Descriptor folder{};
  std::string name{};
};

enum class Kind : std::uint8_t { file, folder, link, other };

struct Entry {
  std::string name{};
  Kind kind = Kind::other;
  std::uint64_t size = 0;
};

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

std::unexpected<Error> cannot_open(const std::string& path, int error) {
  if (error == ENOENT) return fail(ErrorCode::not_found, fmt::format("there is no {}", path));
  if (error == ELOOP || error == EXDEV) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{} leads through a link, and links are not followed", path));
  }
  if (error == ENOTDIR) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{} leads through what is no folder", path));
  }
  return fail(ErrorCode::unavailable,
              fmt::format("cannot open {}: {}", path, std::generic_category().message(error)));
}

int open_at(int folder, const char* path, std::uint64_t flags) {
  open_how how{};
  how.flags = flags | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS;
  for (;;) {
    const auto fd = ::syscall(SYS_openat2, folder, path, &how, sizeof(how));
    // EAGAIN: something was renamed meanwhile, and the kernel could not be sure.
    if (fd >= 0 || (errno != EAGAIN && errno != EINTR)) return static_cast<int>(fd);
  }
}

Kind kind_of(mode_t mode) {
  if (S_ISREG(mode)) return Kind::file;
  if (S_ISDIR(mode)) return Kind::folder;
  return S_ISLNK(mode) ? Kind::link : Kind::other;
}

Result<Descriptor> open_beneath(const Descriptor& folder, const std::string& path,
                                std::uint64_t flags) {
  Descriptor opened(open_at(folder.get(), path.c_str(), flags));
  if (!opened.is_open()) return cannot_open(path, errno);
  return opened;
}

Result<std::vector<Entry>> entries_of(const Descriptor& folder) {
  // A second descriptor: closedir closes the one it is given.
  const int own = open_at(folder.get(), ".", O_RDONLY | O_DIRECTORY);
  const std::unique_ptr<DIR, CloseFolder> reader(own < 0 ? nullptr : ::fdopendir(own));
  if (!reader) return fail(ErrorCode::unavailable, "cannot list a folder");
  std::vector<Entry> entries;
  while (const dirent* next = ::readdir(reader.get())) {
    const std::string_view name = next->d_name;
    if (name == "." || name == "..") continue;
    struct stat status{};
    if (::fstatat(folder.get(), next->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    entries.push_back({.name = std::string(name),
                       .kind = kind_of(status.st_mode),
                       .size = static_cast<std::uint64_t>(status.st_size)});
  }
  std::ranges::sort(entries, {}, &Entry::name);
  return entries;
}

std::string problem_of(const std::vector<FileRoot>& roots) {
  if (roots.empty()) return "file tools need a root";
  for (std::size_t i = 0; i < roots.size(); ++i) {
    const std::string& name = roots[i].name;
    if (!roots[i].path.starts_with('/')) return "a root must be a whole path: " + roots[i].path;
    if (roots.size() == 1) continue;
    const auto plain = plain_path(name);
    if (!plain || *plain != name || name == "." || name.find('/') != std::string::npos) {
      return fmt::format("of several roots each needs a name without a slash, not \"{}\"", name);
    }
    const bool is_doubled = std::ranges::count(roots, name, &FileRoot::name) > 1;
    if (is_doubled) return fmt::format("two roots are named {}", name);
  }
  return {};
}

// A whole pattern means the files, whichever links lead there.
void add_real(std::vector<std::string>& patterns) {
  std::vector<std::string> real;
  for (const std::string& pattern : patterns) {
    if (!pattern.starts_with('/')) continue;
    std::error_code error;
    std::string path = std::filesystem::weakly_canonical(pattern, error).string();
    if (!error && path != pattern) real.push_back(std::move(path));
  }
  patterns.insert(patterns.end(), real.begin(), real.end());
}

Result<std::string> read_all(const Descriptor& file, std::size_t bytes_max) {
  std::string bytes;
  std::array<char, 65536> part;  // NOLINT: filled by read.
  for (;;) {
    const ssize_t n = ::read(file.get(), part.data(), part.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0)
      return fail(ErrorCode::unavailable, "cannot read: " + std::generic_category().message(errno));
    if (n == 0) return bytes;
    bytes.append(part.data(), static_cast<std::size_t>(n));
    if (bytes.size() > bytes_max) return fail(ErrorCode::invalid_argument, "it is too large");
  }
}

class Roots {
 public:
  /// Fails: as make_file_tools.
  [[nodiscard]] static Result<Roots> open(FileToolsSpec spec) {
    if (const std::string problem = problem_of(spec.roots); !problem.empty()) {
      return fail(ErrorCode::invalid_argument, problem);
    }
    Roots roots(std::move(spec));
    roots.named_roots_ = named_roots(roots.spec_.roots);
    for (auto* patterns : {&roots.spec_.hidden, &roots.spec_.read_only, &roots.spec_.asked}) {
      add_real(*patterns);
    }
    for (const FileRoot& root : roots.spec_.roots) {
      Descriptor folder(::open(root.path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
      if (!folder.is_open()) {
        return fail(ErrorCode::invalid_argument,
                    fmt::format("the root {} is no folder that can be opened", root.path));
      }
      const Descriptor probe(open_at(folder.get(), ".", O_PATH | O_DIRECTORY));
      if (!probe.is_open() && (errno == ENOSYS || errno == EPERM)) {
        return fail(ErrorCode::unsupported,
                    "file tools need openat2, which this kernel does not have");
      }
      roots.folders_.push_back(std::move(folder));
    }
    return roots;
  }

  [[nodiscard]] const FileToolsSpec& spec() const { return spec_; }
  /// Whether a pattern fits the file of that plain path by any of its names.
  [[nodiscard]] bool fits(const std::string& pattern, const std::string& plain) const {
    if (!pattern.starts_with('/')) return fits_path(pattern, plain);
    const auto names = path_names(plain, {.roots = named_roots_});
    return !names || std::ranges::any_of(
                         *names, [&](const std::string& name) { return fits_path(pattern, name); });
  }

  /// For rules for paths. `otherwise`: what a path that is left out means.
  [[nodiscard]] PathArgs path_args(std::optional<std::string> otherwise) const {
    return {.pointers = {"/path"}, .otherwise = std::move(otherwise), .roots = named_roots_};
  }

  // Paths as a model gives them. Each fails with words for the model: `invalid_argument` for what
  // is not a path, is hidden, or leads through a link; `not_found`; `unavailable`.

  /// A plain file, not larger than file_bytes_max.
  [[nodiscard]] Result<Descriptor> open_file(const std::string& path) const {
    auto spot = spot_of(path);
    if (!spot) return forward(spot);
    // First by name alone: to open a pipe or a device is to do something to it.
    auto named = open_beneath(folders_[spot->root], spot->within, O_PATH);
    if (!named) return named;
    struct stat status{};
    const auto refusal = [&](const Descriptor& file) -> std::string {
      if (::fstat(file.get(), &status) != 0) return "cannot be read";
      if (S_ISDIR(status.st_mode)) return "is a folder; use list_files";
      if (!S_ISREG(status.st_mode)) return "is no plain file";
      const bool is_large = static_cast<std::uint64_t>(status.st_size) > spec_.file_bytes_max;
      return is_large ? fmt::format("has {} bytes; at most {} are read", status.st_size,
                                    spec_.file_bytes_max)
                      : "";
    };
    if (const auto why = refusal(*named); !why.empty()) {
      return fail(ErrorCode::invalid_argument, spot->plain + " " + why);
    }
    // It may be another one by now: it does not block, and is looked at again.
    auto file = open_beneath(folders_[spot->root], spot->within, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (!file) return file;
    if (const auto why = refusal(*file); !why.empty()) {
      return fail(ErrorCode::invalid_argument, spot->plain + " " + why);
    }
    return file;
  }

  /// The folder is made if it is not there, if `makes`. Fails also in a root that is not writable,
  /// and for what is only read.
  [[nodiscard]] Result<Leaf> open_leaf(const std::string& path, bool makes) const {
    auto spot = spot_of(path);
    if (!spot) return forward(spot);
    if (!spec_.roots[spot->root].is_writable) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("{} is in a root that is only read", path));
    }
    if (covers(spec_.read_only, spot->plain)) {
      return fail(ErrorCode::invalid_argument, fmt::format("{} is only read", path));
    }
    if (spot->within == ".") return fail(ErrorCode::invalid_argument, path + " is a folder");
    auto folder = open_beneath(folders_[spot->root], ".", O_PATH | O_DIRECTORY);
    std::string_view rest = spot->within;
    for (std::size_t end = rest.find('/'); folder && end != std::string_view::npos;
         end = rest.find('/')) {
      const std::string name(rest.substr(0, end));
      rest.remove_prefix(end + 1);
      // One that is there already is not an error.
      if (makes) ::mkdirat(folder->get(), name.c_str(), 0777);
      folder = open_beneath(*folder, name, O_PATH | O_DIRECTORY);
    }
    if (!folder) return forward(folder);
    return Leaf{.folder = *std::move(folder), .name = std::string(rest)};
  }

  /// "." with several roots: their names.
  [[nodiscard]] Result<std::vector<Entry>> list(const std::string& path) const {
    const auto plain = plain_path(path);
    if (plain && *plain == "." && spec_.roots.size() > 1) {
      std::vector<Entry> names;
      names.reserve(spec_.roots.size());
      for (const FileRoot& root : spec_.roots)
        names.push_back({.name = root.name, .kind = Kind::folder});
      return names;
    }
    auto spot = spot_of(path);
    if (!spot) return forward(spot);
    const auto folder = open_beneath(folders_[spot->root], spot->within, O_RDONLY | O_DIRECTORY);
    if (!folder) return fail(folder.error().code, folder.error().message);
    auto entries = entries_of(*folder);
    if (!entries) return entries;
    std::erase_if(*entries, [&](const Entry& entry) {
      return covers(spec_.hidden, *plain == "." ? entry.name : *plain + "/" + entry.name);
    });
    return entries;
  }

 private:
  struct Spot {
    std::size_t root = 0;
    std::string within{};  ///< Plain, relative to the root.
    std::string plain{};
  };

  explicit Roots(FileToolsSpec spec) : spec_(std::move(spec)) {}
  /// Whether one of the patterns fits the file, or a folder above it, by any of its names.
  [[nodiscard]] bool covers(const std::vector<std::string>& patterns,
                            const std::string& plain) const {
    const auto names = path_names(plain, {.roots = named_roots_});
    return std::ranges::any_of(patterns, [&](const std::string& pattern) {
      if (!pattern.starts_with('/')) return covers_path(pattern, plain);
      return !names || std::ranges::any_of(*names, [&](const std::string& name) {
        return covers_path(pattern, name);
      });
    });
  }

  [[nodiscard]] Result<Spot> spot_of(const std::string& path) const {
    auto plain = plain_path(path);
    if (!plain)
      return fail(ErrorCode::invalid_argument,
                  fmt::format("\"{}\": {}", path, plain.error().message));
    if (plain->starts_with('/')) {
      return fail(
          ErrorCode::invalid_argument,
          fmt::format("{} is a whole path; give one relative to {}", path,
                      spec_.roots.size() == 1 ? "the root" : "a root, beginning with its name"));
    }
    if (covers(spec_.hidden, *plain)) {
      return fail(ErrorCode::invalid_argument, fmt::format("{} is not for this tool", path));
    }
    if (spec_.roots.size() == 1) return Spot{.root = 0, .within = *plain, .plain = *plain};
    const std::size_t end = std::min(plain->find('/'), plain->size());
    for (std::size_t i = 0; i < spec_.roots.size(); ++i) {
      if (plain->substr(0, end) != spec_.roots[i].name) continue;
      const std::string within = end == plain->size() ? "." : plain->substr(end + 1);
      return Spot{.root = i, .within = within, .plain = *plain};
    }
    std::string names;
    for (const FileRoot& root : spec_.roots) names += (names.empty() ? "" : ", ") + root.name;
    return fail(ErrorCode::not_found, fmt::format("{} is in no root; there are {}", path, names));
  }

  FileToolsSpec spec_;
  std::vector<FileRoot> named_roots_;  // As rules for paths name them.
  std::vector<Descriptor> folders_;
};

// A file that is replaced in one step, and whether it was. The new content is written beside it,
// under a name made of the call's key, synced, and renamed; then the folder is synced. The key
// rides on the new file as an attribute, so the rename is what makes both true.

constexpr const char* key_attribute = "user.perdure.key";
// Files get the time of the kernel's last tick, which may be before the time that a clock tells.
constexpr Duration tick_max{20};

std::unexpected<Error> cannot(std::string_view what, const std::string& name,
                              std::string subject = {}) {
  return fail(ErrorCode::unavailable,
              fmt::format("{} {}: {}", what, name, std::generic_category().message(errno)),
              std::move(subject));
}

// The key without its generation: every attempt of a call is the same one.
std::string plain_key(const std::string& key) { return key.substr(0, key.find('-')); }

Result<void> write_all(const Descriptor& file, const std::string& name, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(file.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return cannot("cannot write", name);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

Timestamp time_of(const timespec& time) {
  return Timestamp(std::chrono::duration_cast<Duration>(std::chrono::seconds(time.tv_sec)) +
                   Duration(time.tv_nsec / 1'000'000));
}

// Whose it is and who may read it stay as they were, as far as we may say so; no user gains access.
void take_over(const Descriptor& file, const struct stat& old) {
  struct stat fresh{};
  if (::fstat(file.get(), &fresh) != 0) return;
  const bool is_same = fresh.st_uid == old.st_uid && fresh.st_gid == old.st_gid;
  const bool is_given = is_same || ::fchown(file.get(), old.st_uid, old.st_gid) == 0;
  // Not the bits that let others act as its owner: its content is new.
  mode_t mode = old.st_mode & 0777U;
  // Another group than it had: its members are as all others were.
  const bool has_group = is_given || fresh.st_gid == old.st_gid ||
                         ::fchown(file.get(), static_cast<uid_t>(-1), old.st_gid) == 0;
  if (!has_group) mode = (mode & 0707U) | ((mode & 07U) << 3U);
  ::fchmod(file.get(), mode);
}

bool has_key(const Descriptor& file, const std::string& key) {
  std::array<char, 256> value{};
  const ssize_t size = ::fgetxattr(file.get(), key_attribute, value.data(), value.size());
  return size >= 0 && std::string_view(value.data(), static_cast<std::size_t>(size)) == key;
}

// Under which the new content is written first; the same for all attempts of a call.
std::string temporary_name(const std::string& key) {
  return fmt::format(".perdure-{}.tmp", to_hex(sha256(plain_key(key))).substr(0, 24));
}

// Fails: `invalid_argument` if a folder, a link or what is not a regular file is there;
// `unavailable`. About "unsure": the new content is there, and may not survive a power cut.
// Otherwise the old content is.
Result<void> replace_file(const Leaf& leaf, std::string_view bytes, const std::string& key) {
  struct stat old{};
  const bool is_there =
      ::fstatat(leaf.folder.get(), leaf.name.c_str(), &old, AT_SYMLINK_NOFOLLOW) == 0;
  if (is_there && !S_ISREG(old.st_mode)) {
    return fail(ErrorCode::invalid_argument, leaf.name + " is no plain file");
  }
  const std::string temporary = temporary_name(key);
  ::unlinkat(leaf.folder.get(), temporary.c_str(), 0);  // Of an attempt that died.
  const Descriptor file(::openat(leaf.folder.get(), temporary.c_str(),
                                 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                                 is_there ? 0600 : 0666));
  if (!file.is_open()) return cannot("cannot write in the folder of", leaf.name);
  if (is_there) take_over(file, old);
  auto written = write_all(file, leaf.name, bytes);
  // Where there are no attributes, verify goes by what it sees.
  ::fsetxattr(file.get(), key_attribute, plain_key(key).data(), plain_key(key).size(), 0);
  if (written && ::fsync(file.get()) != 0) written = cannot("cannot sync", leaf.name);
  if (written &&
      ::renameat(leaf.folder.get(), temporary.c_str(), leaf.folder.get(), leaf.name.c_str()) != 0) {
    written = cannot("cannot put in place", leaf.name);
  }
  if (!written) {
    ::unlinkat(leaf.folder.get(), temporary.c_str(), 0);
    return written;
  }
  const Descriptor folder(::openat(leaf.folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.is_open() || ::fsync(folder.get()) != 0) {
    return cannot("cannot sync the folder of", leaf.name, "unsure");
  }
  return {};
}

/// What is there after an attempt whose end was not seen.
struct Trace {
  std::optional<std::string> content{};  ///< Empty: there is no file.
  bool has_key = false;                  ///< It was put there under this key.
  bool is_under_way = false;             ///< The new content is beside it, under its own name.
  bool is_changed = false;               ///< File or folder may have changed at or after `since`.
};

Result<Trace> trace_of(const Leaf& leaf, const std::string& key, Timestamp since,
                       std::size_t bytes_max) {
  Trace trace;
  since -= tick_max;
  struct stat status{};
  const auto look = [&](const std::string& name) {
    return ::fstatat(leaf.folder.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
  };
  trace.is_under_way = look(temporary_name(key));
  trace.is_changed = !look(".") || time_of(status.st_mtim) >= since;
  if (!look(leaf.name)) return trace;
  trace.is_changed = time_of(status.st_ctim) >= since;
  auto file = open_beneath(leaf.folder, leaf.name, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (!file) return fail(ErrorCode::unavailable, file.error().message);
  trace.has_key = has_key(*file, plain_key(key));
  auto content = read_all(*file, bytes_max);
  if (!content) return fail(ErrorCode::unavailable, content.error().message);
  trace.content = *std::move(content);
  return trace;
}

// The tools.

// Whether bytes are not text: not UTF-8, or with a zero byte.
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
  return fmt::format("{}[lines {} to {} of {}; continue with offset {}]", shown, line,
                     line + taken - 1, all, line + taken);
}

ToolOutcome read_file(const Roots& roots, const CallContext& context) {
  const Json& args = context.args;
  const auto file = roots.open_file(args.get<std::string>("path").value_or(""));
  if (!file) return error_answer(file.error());
  const auto bytes = read_all(*file, roots.spec().file_bytes_max);
  if (!bytes) return error_answer(bytes.error());
  if (is_binary(*bytes)) {
    return Succeeded{fmt::format("[a binary file of {} bytes, sha256 {}]", bytes->size(),
                                 to_hex(sha256(*bytes)))};
  }
  return Succeeded{lines_of(*bytes, args.get<std::int64_t>("offset").value_or(1),
                            args.get<std::int64_t>("limit").value_or(INT64_MAX),
                            roots.spec().read_bytes_max)};
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

ToolOutcome list_files(const Roots& roots, const CallContext& context) {
  const auto entries = roots.list(context.args.get<std::string>("path").value_or("."));
  if (!entries) return error_answer(entries.error());
  std::string text;
  const std::size_t shown = std::min(entries->size(), roots.spec().entries_max);
  for (std::size_t i = 0; i < shown; ++i) text += line_of((*entries)[i]);
  if (shown < entries->size()) text += fmt::format("[{} more]\n", entries->size() - shown);
  return Succeeded{text.empty() ? "[the folder is empty]" : text};
}

// Searching: folder by folder, each opened beneath the one before. What is hidden, asked about,
// binary, too large or a link is passed over; a search that meets its limit says so.

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
  auto pattern = schema::Pattern::compile(context.args.get<std::string>("pattern").value_or(""));
  if (!pattern)
    return Succeeded{.content = "the pattern: " + pattern.error().message, .is_error = true};
  const auto start = plain_path(context.args.get<std::string>("path").value_or("."));
  if (!start) return Succeeded{.content = start.error().message, .is_error = true};
  if (const auto there = roots.list(*start); !there) {
    return Succeeded{.content = there.error().message, .is_error = true};
  }
  Search search(roots, *std::move(pattern), context.args.get<std::string>("files").value_or(""),
                context.stop);
  return Succeeded{search.run(*start)};
}

// Writing: a whole file, or one place in it. Both are verifiable; what cannot be told for sure is
// left to a person.

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
  const std::string content = context.args.get<std::string>("content").value_or("");
  if (content.size() > roots.spec().file_bytes_max) return Failed{"the content is too large"};
  const auto leaf = roots.open_leaf(context.args.get<std::string>("path").value_or(""), true);
  if (!leaf) return Failed{leaf.error().message};
  return outcome_of(replace_file(*leaf, content, context.key), content);
}

ToolOutcome edit_file(const Roots& roots, const CallContext& context) {
  const std::string path = context.args.get<std::string>("path").value_or("");
  const std::string old_text = context.args.get<std::string>("old_text").value_or("");
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
  const std::string changed =
      replaced(*content, old_text, context.args.get<std::string>("new_text").value_or(""));
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
  return CannotTell{"the file has changed since, and it is unknown what changed it"};
}

Result<Trace> trace(const Roots& roots, const VerifyContext& context) {
  const auto leaf = roots.open_leaf(context.args.get<std::string>("path").value_or(""), false);
  if (!leaf) return fail(leaf.error().code, leaf.error().message);
  return trace_of(*leaf, context.key, context.dispatched_at, roots.spec().file_bytes_max);
}

Verdict verify_write(const Roots& roots, const VerifyContext& context) {
  const auto found = trace(roots, context);
  // Without its folder there is no file; making the folder is not an effect that counts.
  if (!found && found.error().code == ErrorCode::not_found) return NotLanded{};
  if (!found) return CannotTell{found.error().message};
  return verdict_of(*found,
                    found->content == context.args.get<std::string>("content").value_or(""));
}

Verdict verify_edit(const Roots& roots, const VerifyContext& context) {
  const auto found = trace(roots, context);
  if (!found) return CannotTell{found.error().message};
  const std::string new_text = context.args.get<std::string>("new_text").value_or("");
  const bool looks_done =
      found->content && !new_text.empty() && found->content->find(new_text) != std::string::npos &&
      found->content->find(context.args.get<std::string>("old_text").value_or("")) ==
          std::string::npos;
  return verdict_of(*found, looks_done);
}

}  // namespace

}  // namespace perdure::files

namespace perdure {

Result<std::vector<ToolSpec>> make_file_tools(const FileToolsSpec& spec) {
  using namespace files;
  using Run = ToolOutcome (*)(const Roots&, const CallContext&);
  using Verify = Verdict (*)(const Roots&, const VerifyContext&);
  auto opened = Roots::open(spec);
  if (!opened) return forward(opened);
  // What tools share lives as long as any of them, or of the copies that attempts make.
  const auto roots = std::make_shared<const Roots>(*std::move(opened));
  std::vector<ToolSpec> tools;
  // `otherwise`: what a path that is left out means.
  const auto add = [&](Tool tool, std::string_view schema, Run run, Verify verify = nullptr,
                       std::optional<std::string> otherwise = {}) {
    tool.input_schema = schema;
    tool.run = [roots, run](const CallContext& context) { return run(*roots, context); };
    if (verify != nullptr) {
      tool.verify = [roots, verify](const VerifyContext& asked) { return verify(*roots, asked); };
    }
    tools.push_back({.tool = std::move(tool), .path_args = roots->path_args(std::move(otherwise))});
  };
  add({.name = "read_file",
       .description = "Reads a text file, or some lines of it.",
       .side_effects = SideEffects{.read = true}},
      read_schema, read_file);
  add({.name = "list_files",
       .description = "Lists what is in a folder.",
       .side_effects = SideEffects{.read = true}},
      list_schema, list_files, nullptr, ".");
  add({.name = "search_files",
       .description = "Finds the lines of files that a regular expression fits.",
       .side_effects = SideEffects{.read = true}},
      search_schema, search_files, nullptr, ".");
  if (!std::ranges::any_of(spec.roots, &FileRoot::is_writable)) return tools;
  add({.name = "write_file",
       .description = "Writes a whole file, in the place of one that is there.",
       .side_effects = SideEffects{.write = true}},
      write_schema, write_file, verify_write);
  add({.name = "edit_file",
       .description = "Replaces a piece of text in a file.",
       .side_effects = SideEffects{.read = true, .write = true}},
      edit_schema, edit_file, verify_edit);
  return tools;
}

}  // namespace perdure
