// Of several that are made for one path at once, the first that is whole gets the name.

#include "files/part_file.hpp"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <expected>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "core/api/descriptor.hpp"
#include "files/file_lock.hpp"
#include "perdure/core/error.hpp"

namespace perdure::sqlite {
namespace {

std::unexpected<Error> cannot(const std::string& what, const std::string& path) {
  return fail(ErrorCode::unavailable,
              fmt::format("cannot {} {}: {}", what, path, std::strerror(errno)));
}

Result<void> sync_folder(const std::string& path) {
  const Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.is_open()) return cannot("open", path);
  if (::fsync(folder.get()) != 0) return cannot("sync", path);
  return {};
}

}  // namespace

Result<PartFile> PartFile::open_for(const std::string& path) {
  std::string part = path + ".part-";
  auto file = make_file(part);
  if (!file) return forward(file);
  return PartFile(std::move(part), *std::move(file));
}

PartFile::~PartFile() {
  if (path_.empty()) return;
  // SQLite leaves the files beside it behind if the disk fails.
  for (const char* end : {"", "-journal", "-wal", "-shm"}) ::unlink((path_ + end).c_str());
}

PartFile::PartFile(PartFile&& other) noexcept
    : path_(std::exchange(other.path_, {})), file_(std::move(other.file_)) {}

Result<void> PartFile::append(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return cannot("write", path_);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Result<void> PartFile::sync() const {
  if (::fsync(file_.get()) != 0) return cannot("sync", path_);
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
