// The book is locked by all who run commands, and alone by whoever clears up. A stand-in is told
// from a file of somebody by its rights, and by having nothing in it.

#include "tools/stand_ins.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <ios>
#include <optional>
#include <string>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "perdure/agent/file_root.hpp"
#include "perdure/agent/shell_tool.hpp"
#include "perdure/core/descriptor.hpp"
#include "perdure/core/error.hpp"

namespace perdure {
namespace {

namespace fs = std::filesystem;

// Nobody writes into it by accident, and loses that.
constexpr mode_t file_rights = 0400;
constexpr mode_t folder_rights = 0500;

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(path, ignored));
}

bool is_folder_of_ours(const fs::path& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return false;
  std::error_code ignored;
  return (status.st_mode & 07777U) == folder_rights && fs::is_empty(path, ignored);
}

bool is_in_writable_root(const fs::path& path, const ShellSpec& spec) {
  return std::ranges::any_of(spec.roots, [&](const FileRoot& root) {
    const fs::path folder = root.path;
    const auto end = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
    return root.is_writable && end.first == folder.end() && end.second != path.end();
  });
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
         (!is_there(place.parent_path()) || is_folder_of_ours(place.parent_path()))) {
    place = place.parent_path();
  }
  if (!is_in_writable_root(place, spec)) return std::nullopt;
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

}  // namespace

Result<StandIns> StandIns::put(const ShellSpec& spec) {
  std::error_code ignored;  // Whoever needs the folder says so.
  fs::create_directories(spec.state_folder, ignored);
  const std::string path = spec.state_folder + "/stand-ins";
  Descriptor book = open_book(path, LOCK_SH);
  if (!book.is_open()) {
    return fail(ErrorCode::unavailable,
                fmt::format("cannot write {}: {}", path, std::generic_category().message(errno)));
  }
  StandIns put(path, std::move(book));
  for (const std::string& hidden : spec.hidden) {
    const auto missing = find_missing(hidden, spec);
    if (!missing) continue;
    if (auto done = put_one(*missing, put.shared_.get()); !done) return forward(done);
    put.places_.push_back(missing->place.string());
  }
  return put;
}

StandIns::~StandIns() {
  if (!shared_.is_open()) return;  // Moved from.
  shared_.close();
  const Descriptor alone = open_book(book_, LOCK_EX | LOCK_NB);
  if (!alone.is_open()) return;
  std::ifstream lines(book_, std::ios::binary);
  for (std::string place; std::getline(lines, place, '\0');) take_away(place);
  static_cast<void>(::ftruncate(alone.get(), 0));
}

}  // namespace perdure
