// A group of one's own, as most systems give each user, may write: that is what a umask of 002 is for.

#include "place/trust.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <pwd.h>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <sys/types.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include "core/api/descriptor.hpp"

namespace perdure::cli {
namespace {

namespace fs = std::filesystem;

std::string name_of(uid_t user) {
  const passwd* entry = ::getpwuid(user);  // NOLINT(concurrency-mt-unsafe): before any thread.
  return entry == nullptr ? fmt::format("user {}", user)
                          : fmt::format("{} (user {})", entry->pw_name, user);
}

std::string text_of(int file) {
  std::string text;
  std::array<char, 4096> room{};
  for (;;) {
    const ssize_t size = ::read(file, room.data(), room.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return text;
    text.append(room.data(), static_cast<std::size_t>(size));
  }
}

bool is_same_file(int one, int other) {
  struct stat here{};
  struct stat there{};
  return ::fstat(one, &here) == 0 && ::fstat(other, &there) == 0 && S_ISREG(here.st_mode) &&
         here.st_ino == there.st_ino && here.st_dev == there.st_dev;
}

}  // namespace

void Trust::add(std::vector<fs::path> folders) {
  for (fs::path& folder : folders) {
    std::error_code ignored;
    folders_.push_back(fs::weakly_canonical(folder, ignored));
  }
}

bool Trust::is_trusted(const fs::path& path) const {
  std::error_code ignored;
  const fs::path whole = fs::weakly_canonical(path, ignored);
  return std::ranges::any_of(folders_, [&](const fs::path& folder) {
    return !folder.empty() &&
           std::mismatch(folder.begin(), folder.end(), whole.begin(), whole.end()).first ==
               folder.end();
  });
}

std::string Trust::objection_to(int opened, const fs::path& path, Adding adding) const {
  struct stat status{};
  if (::fstat(opened, &status) != 0) return fmt::format("{} cannot be looked at", path.string());
  if (status.st_uid != me_ && status.st_uid != 0) {
    return fmt::format("{} belongs to {}", path.string(), name_of(status.st_uid));
  }
  if (S_ISLNK(status.st_mode)) return {};  // Everybody may "write" one: it cannot be changed.
  // In a folder like /tmp nobody can replace another user's files, but anybody can add some.
  const bool is_like_tmp = S_ISDIR(status.st_mode) && (status.st_mode & S_ISVTX) != 0;
  if (is_like_tmp && adding == Adding::is_harmless) return {};
  const bool is_our_group = status.st_gid == ::getegid() || status.st_gid == 0;
  const bool is_open = (status.st_mode & S_IWOTH) != 0;
  if (is_open || ((status.st_mode & S_IWGRP) != 0 && !is_our_group)) {
    return fmt::format("{} may be written by {}", path.string(),
                       is_open ? "everybody" : "a group that is not your own");
  }
  return {};
}

std::optional<Trust::Found> Trust::find(const fs::path& base, std::string_view folder,
                                        std::string_view name) const {
  const Descriptor above(::open(base.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const std::string part(folder);
  const Descriptor place(::openat(above.get(), part.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const std::string last(name);
  const Descriptor itself(::openat(place.get(), last.c_str(), O_PATH | O_CLOEXEC));
  // Itself, should it be a link: where that leads was opened above.
  const Descriptor link(::openat(place.get(), last.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  const Descriptor to_place(::openat(above.get(), part.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!itself.is_open() || !link.is_open() || !to_place.is_open()) return std::nullopt;
  Found found{.path = base / folder / name};
  const bool is_ours = !is_trusted(base);
  const std::array parts = {std::pair(above.get(), base), std::pair(to_place.get(), base / folder),
                            std::pair(place.get(), base / folder),
                            std::pair(link.get(), found.path), std::pair(itself.get(), found.path)};
  for (const auto& [opened, path] : parts) {
    const Adding adding = opened == above.get() ? Adding::is_harmless : Adding::is_an_attack;
    if (is_ours && found.objection.empty()) found.objection = objection_to(opened, path, adding);
  }
  if (!found.objection.empty()) return found;
  const Descriptor file(::openat(place.get(), last.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  // The very one that was looked at, whatever lies there by now.
  if (is_same_file(file.get(), itself.get())) found.text = text_of(file.get());
  return found;
}

std::string Trust::objection_to_store(const fs::path& file) const {
  if (is_trusted(file.parent_path())) return {};
  // SQLite has its other files beside the one that a link leads to.
  std::error_code ignored;
  const fs::path real = fs::weakly_canonical(file, ignored);
  std::vector<fs::path> paths{real.parent_path()};
  for (const fs::path& store : {file, real}) {
    for (const char* end : {"", "-wal", "-shm", "-journal", "-lock"})
      paths.emplace_back(store.string() + end);
  }
  for (const fs::path& path : paths) {
    for (const int links : {0, O_NOFOLLOW}) {
      const Descriptor opened(::open(path.c_str(), O_PATH | O_CLOEXEC | links));
      if (!opened.is_open()) continue;
      auto objection = objection_to(opened.get(), path, Adding::is_an_attack);
      if (!objection.empty()) return objection;
    }
  }
  return {};
}

}  // namespace perdure::cli
