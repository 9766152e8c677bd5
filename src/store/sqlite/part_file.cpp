// The lock is the kernel's: a process that dies leaves a part that the next one may take.

#include "sqlite/part_file.hpp"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <expected>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "perdure/core/error.hpp"
#include "sqlite/file_lock.hpp"

namespace perdure::sqlite {
namespace {

std::unexpected<Error> cannot(const std::string& what, const std::string& path) {
  return fail(ErrorCode::unavailable,
              fmt::format("cannot {} {}: {}", what, path, std::strerror(errno)));
}

Result<void> sync_folder(const std::string& path) {
  const int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return cannot("open", path);
  const int code = ::fsync(folder);
  const int reason = errno;
  ::close(folder);
  errno = reason;
  if (code != 0) return cannot("sync", path);
  return {};
}

}  // namespace

Result<PartFile> PartFile::open_for(const std::string& path) {
  const std::string part = path + ".part";
  auto file = Descriptor::open(part);
  if (!file) return forward(file);
  struct stat opened{};
  struct stat named{};
  const bool is_ours = lock_byte(*file, 0, LockWait::no) == 0 &&
                       ::fstat(file->number(), &opened) == 0 && ::stat(part.c_str(), &named) == 0 &&
                       opened.st_ino == named.st_ino;
  if (!is_ours) {
    return fail(ErrorCode::unavailable,
                fmt::format("{} is just being written by somebody else", part));
  }
  if (opened.st_uid != ::geteuid()) {
    return fail(ErrorCode::unavailable,
                fmt::format("{} is there, and somebody else's: remove it first", part));
  }
  // An older version may have left it, with rights for others.
  if (::fchmod(file->number(), private_rights) != 0) return cannot("take for ourselves", part);
  if (::ftruncate(file->number(), 0) != 0) return cannot("empty", part);
  return PartFile(part, *std::move(file));
}

PartFile::~PartFile() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

PartFile::PartFile(PartFile&& other) noexcept
    : path_(std::exchange(other.path_, {})), file_(std::move(other.file_)) {}

Result<void> PartFile::append(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_.number(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return cannot("write", path_);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Result<void> PartFile::sync() const {
  if (::fsync(file_.number()) != 0) return cannot("sync", path_);
  return {};
}

Result<void> PartFile::give_name(const std::string& name) const {
  if (auto synced = sync(); !synced) return synced;
  // A link, unlike a rename, does not take the place of a file made meanwhile.
  if (::link(path_.c_str(), name.c_str()) != 0) {
    if (errno != EEXIST) return cannot("name", name);
    return fail(ErrorCode::already_exists, fmt::format("there is a file {} already", name));
  }
  std::error_code ignored;
  return sync_folder(std::filesystem::absolute(name, ignored).parent_path().string());
}

}  // namespace perdure::sqlite
