// All names are looked up in the open folder, and none of them through a link.

#include "tools/files/replacement.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <ctime>
#include <expected>
#include <fcntl.h>
#include <fmt/format.h>
#include <optional>
#include <stdio.h>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "core/api/descriptor.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "tools/files/roots.hpp"

namespace perdure::files {
namespace {

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

// Whose it is and who may read it stay as they were, as far as we may say so; nobody may who could
// not before.
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

}  // namespace

std::string temporary_name(const std::string& key) {
  return fmt::format(".perdure-{}.tmp", to_hex(sha256(plain_key(key))).substr(0, 24));
}

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

}  // namespace perdure::files
