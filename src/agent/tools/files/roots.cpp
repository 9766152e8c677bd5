// openat2 with RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS does what no check before an open can: there
// is no moment between them.

#include "tools/files/roots.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <dirent.h>
#include <expected>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include "core/api/descriptor.hpp"
#include "perdure/agent/permissions.hpp"
#include "perdure/agent/tools.hpp"
#include "perdure/core/error.hpp"

namespace perdure::files {
namespace {

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

}  // namespace

Result<Roots> Roots::open(FileToolsSpec spec) {
  if (const std::string problem = problem_of(spec.roots); !problem.empty()) {
    return fail(ErrorCode::invalid_argument, problem);
  }
  Roots roots(std::move(spec));
  roots.place_.roots = named_roots(roots.spec_.roots);
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

// A folder that is hidden hides what is in it.
bool Roots::is_hidden(const std::string& plain) const {
  return std::ranges::any_of(spec_.hidden,
                             [&](const std::string& pattern) { return covers(pattern, plain); });
}

bool Roots::covers(const std::string& pattern, const std::string& plain) const {
  if (!pattern.starts_with('/')) return covers_path(pattern, plain);
  const auto names = path_names(plain, place_);
  return !names || std::ranges::any_of(
                       *names, [&](const std::string& name) { return covers_path(pattern, name); });
}

bool Roots::fits(const std::string& pattern, const std::string& plain) const {
  if (!pattern.starts_with('/')) return fits_path(pattern, plain);
  const auto names = path_names(plain, place_);
  return !names || std::ranges::any_of(
                       *names, [&](const std::string& name) { return fits_path(pattern, name); });
}

PathArgs Roots::path_args(std::optional<std::string> otherwise) const {
  return {.pointers = {"/path"}, .otherwise = std::move(otherwise), .place = place_};
}

Result<Roots::Spot> Roots::spot_of(const std::string& path) const {
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
  if (is_hidden(*plain)) {
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

Result<Descriptor> open_beneath(const Descriptor& folder, const std::string& path,
                                std::uint64_t flags) {
  Descriptor opened(open_at(folder.get(), path.c_str(), flags));
  if (!opened.is_open()) return cannot_open(path, errno);
  return opened;
}

Result<Descriptor> Roots::open_file(const std::string& path) const {
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

Result<Descriptor> Roots::open_folder(const std::string& path) const {
  auto spot = spot_of(path);
  if (!spot) return forward(spot);
  return open_beneath(folders_[spot->root], spot->within, O_RDONLY | O_DIRECTORY);
}

Result<Leaf> Roots::open_leaf(const std::string& path, bool makes) const {
  auto spot = spot_of(path);
  if (!spot) return forward(spot);
  if (!spec_.roots[spot->root].is_writable) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{} is in a root that is only read", path));
  }
  if (std::ranges::any_of(spec_.read_only, [&](const std::string& pattern) {
        return covers(pattern, spot->plain);
      })) {
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

Result<std::vector<Entry>> Roots::list(const std::string& path) const {
  const auto plain = plain_path(path);
  if (plain && *plain == "." && spec_.roots.size() > 1) {
    std::vector<Entry> names;
    names.reserve(spec_.roots.size());
    for (const FileRoot& root : spec_.roots)
      names.push_back({.name = root.name, .kind = Kind::folder});
    return names;
  }
  auto folder = open_folder(path);
  if (!folder) return forward(folder);
  auto entries = entries_of(*folder);
  if (!entries) return entries;
  std::erase_if(*entries, [&](const Entry& entry) {
    return is_hidden(*plain == "." ? entry.name : *plain + "/" + entry.name);
  });
  return entries;
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

}  // namespace perdure::files
