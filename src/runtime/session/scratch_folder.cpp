// POSIX calls relative to an open folder.

#include "session/scratch_folder.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <dirent.h>
#include <expected>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include "core/api/descriptor.hpp"
#include "core/api/text.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/runtime/session_values.hpp"

namespace perdure {
namespace {

constexpr std::string_view suffix = ".txt";

std::string name_of(const std::string& key) { return key + std::string(suffix); }

std::unexpected<Error> refuse(const std::string& place, std::string_view why) {
  return fail(ErrorCode::unavailable, fmt::format("{} {}", place, why), place);
}

std::unexpected<Error> cannot(std::string_view what, const std::string& place) {
  return fail(ErrorCode::unavailable,
              fmt::format("cannot {} {}: {}", what, place, std::generic_category().message(errno)),
              place);
}

std::int64_t changed_ns(const struct stat& status) {
  constexpr std::int64_t second = 1'000'000'000;
  return status.st_ctim.tv_sec * second + status.st_ctim.tv_nsec;
}

// Somebody else could put into it what the model is told.
Result<void> check_ours(const Descriptor& folder, const std::string& path) {
  struct stat status{};
  if (::fstat(folder.get(), &status) != 0) return cannot("look at", path);
  if (status.st_uid != ::geteuid()) return refuse(path, "belongs to another user");
  const bool is_our_group = status.st_gid == ::getegid();
  if ((status.st_mode & S_IWOTH) != 0 || ((status.st_mode & S_IWGRP) != 0 && !is_our_group)) {
    return refuse(path, "may be written by others");
  }
  return {};
}

Result<void> write_all(const Descriptor& file, const std::string& place, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(file.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return cannot("write", place);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  if (::fdatasync(file.get()) != 0) return cannot("sync", place);
  return {};
}

Result<std::string> read_all(const Descriptor& file, const std::string& place, std::size_t size) {
  std::string bytes(size + 1, '\0');
  std::size_t got = 0;
  while (got <= scratch_value_bytes_max) {
    if (got == bytes.size()) bytes.resize(2 * bytes.size());
    const ssize_t n = ::read(file.get(), bytes.data() + got, bytes.size() - got);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return cannot("read", place);
    if (n == 0) {
      bytes.resize(got);
      return bytes;
    }
    got += static_cast<std::size_t>(n);
  }
  return refuse(place, fmt::format("is longer than a note: {} bytes", scratch_value_bytes_max));
}

// Absent is no error: then it is not open.
Result<Descriptor> open_root(const std::string& root, bool makes) {
  std::error_code error;
  const auto parent = std::filesystem::path(root).lexically_normal().parent_path();
  if (makes && !parent.empty()) std::filesystem::create_directories(parent, error);
  if (makes && !error && ::mkdir(root.c_str(), 0700) != 0 && errno != EEXIST) {
    return cannot("make", root);
  }
  Descriptor folder(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.is_open() && errno == ENOENT && !makes) return Descriptor();
  if (!folder.is_open()) return cannot("open", root);
  if (auto ours = check_ours(folder, root); !ours) return forward(ours);
  return folder;
}

}  // namespace

Result<std::unique_ptr<ScratchFolder>> ScratchFolder::open(const std::string& root,
                                                           const std::string& session, bool makes) {
  auto opened = open_root(root, makes);
  if (!opened) return forward(opened);
  if (!opened->is_open()) return nullptr;
  const Descriptor base = *std::move(opened);
  const std::string name = scratch_folder_name(session);
  const std::string path = root + '/' + name;
  if (makes && ::mkdirat(base.get(), name.c_str(), 0700) != 0 && errno != EEXIST) {
    return cannot("make", path);
  }
  Descriptor folder(
      ::openat(base.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder.is_open() && errno == ENOENT && !makes) return nullptr;
  if (!folder.is_open() && (errno == ELOOP || errno == ENOTDIR)) {
    return refuse(path, "is not a folder");
  }
  if (!folder.is_open()) return cannot("open", path);
  if (auto ours = check_ours(folder, path); !ours) return forward(ours);
  // The lock goes with the process, however it ends.
  if (::flock(folder.get(), LOCK_EX | LOCK_NB) != 0) {
    return refuse(path, "is in use by another process");
  }
  // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): the constructor is private.
  return std::unique_ptr<ScratchFolder>(new ScratchFolder(path, std::move(folder)));
}

Result<std::vector<std::string>> ScratchFolder::keys() const {
  const int copy = ::openat(folder_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (copy < 0) return cannot("list", path_);
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(copy), ::closedir);
  if (!entries) return cannot("list", path_);
  std::vector<std::string> keys;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody else has this stream.
  while (const dirent* entry = ::readdir(entries.get())) {
    std::string_view name = static_cast<const char*>(entry->d_name);
    if (!name.ends_with(suffix)) continue;
    name.remove_suffix(suffix.size());
    if (check_scratch_key(name)) keys.emplace_back(name);
  }
  return keys;
}

Result<ScratchFolder::File> ScratchFolder::read(const std::string& key) const {
  const std::string name = name_of(key);
  const std::string place = place_of(name);
  // Not blocking: a pipe would keep us waiting for a writer.
  const Descriptor file(
      ::openat(folder_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.is_open() && errno == ELOOP) return refuse(place, "is not a plain file");
  if (!file.is_open()) return cannot("open", place);
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return cannot("look at", place);
  if (!S_ISREG(status.st_mode)) return refuse(place, "is not a plain file");
  auto text = read_all(file, place, static_cast<std::size_t>(status.st_size));
  if (!text) return forward(text);
  if (!is_utf8(*text)) return refuse(place, "is not UTF-8 text");
  return File{.text = *std::move(text), .inode = status.st_ino, .changed_ns = changed_ns(status)};
}

Result<void> ScratchFolder::check_unchanged(const std::string& name, const File* seen) const {
  struct stat status{};
  const bool is_there = ::fstatat(folder_.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
  const bool is_same =
      is_there == (seen != nullptr) &&
      (!is_there || (status.st_ino == seen->inode && changed_ns(status) == seen->changed_ns &&
                     static_cast<std::size_t>(status.st_size) == seen->text.size()));
  return is_same ? Result<void>() : refuse(place_of(name), "was changed a moment ago");
}

Result<void> ScratchFolder::replace(const std::string& key, const File* seen,
                                    std::string_view text) {
  const std::string name = name_of(key);
  const std::string fresh = "." + name + ".new";
  // A process that died may have left one.
  if (::unlinkat(folder_.get(), fresh.c_str(), 0) != 0 && errno != ENOENT) {
    return cannot("remove", place_of(fresh));
  }
  const Descriptor file(
      ::openat(folder_.get(), fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file.is_open()) return cannot("make", place_of(fresh));
  if (auto written = write_all(file, place_of(fresh), text); !written) return written;
  if (auto same = check_unchanged(name, seen); !same) return same;
  if (::renameat(folder_.get(), fresh.c_str(), folder_.get(), name.c_str()) == 0) return {};
  return cannot("replace", place_of(name));
}

Result<void> ScratchFolder::remove(const std::string& key, const File& seen) {
  const std::string name = name_of(key);
  if (auto same = check_unchanged(name, &seen); !same) return same;
  if (::unlinkat(folder_.get(), name.c_str(), 0) == 0 || errno == ENOENT) return {};
  return cannot("remove", place_of(name));
}

std::string scratch_folder_name(const std::string& session) {
  return check_scratch_key(session) ? session : "%" + to_hex(sha256(session));
}

}  // namespace perdure
