// Every name is looked up within the open folder, never by path: what happens to the path
// meanwhile does not lead us elsewhere.

#include "scratchpad/folder.hpp"

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

#include "perdure/core/error.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/runtime/scratchpad.hpp"

namespace perdure::scratch {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool is_open() const { return fd_ >= 0; }

 private:
  int fd_;
};

std::unexpected<Error> cannot(std::string_view what, const std::string& name) {
  return fail(ErrorCode::unavailable,
              fmt::format("{} {}: {}", what, name, std::generic_category().message(errno)));
}

Stamp stamp_of(const struct stat& status) {
  constexpr std::int64_t second = 1'000'000'000;
  return {.inode = status.st_ino,
          .size = static_cast<std::uint64_t>(status.st_size),
          .changed_ns = status.st_ctim.tv_sec * second + status.st_ctim.tv_nsec};
}

Result<std::string> read_all(const Descriptor& file, const std::string& name, std::size_t size) {
  std::string bytes(size + 1, '\0');
  std::size_t got = 0;
  while (got <= scratch_value_bytes_max) {
    if (got == bytes.size()) bytes.resize(2 * bytes.size());
    const ssize_t n = ::read(file.get(), bytes.data() + got, bytes.size() - got);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return cannot("cannot read", name);
    if (n == 0) {
      bytes.resize(got);
      return bytes;
    }
    got += static_cast<std::size_t>(n);
  }
  return fail(ErrorCode::invalid_argument, name + " is too large", "too_large");
}

Result<void> write_all(const Descriptor& file, const std::string& name, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(file.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return cannot("cannot write", name);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  if (::fdatasync(file.get()) != 0) return cannot("cannot sync", name);
  return {};
}

class PosixFolder final : public Folder {
 public:
  PosixFolder(std::string path, Descriptor fd) : path_(std::move(path)), fd_(std::move(fd)) {}

  [[nodiscard]] Result<Listing> list() override {
    // Sets the folder's own stamp to the file system's time.
    if (::futimens(fd_.get(), nullptr) != 0) return cannot("cannot touch", path_);
    struct stat status{};
    if (::fstat(fd_.get(), &status) != 0) return cannot("cannot look at", path_);
    if (auto same = check_place(status); !same) return forward(same);
    Listing listing{.begun_ns = stamp_of(status).changed_ns};
    const Descriptor copy(::openat(fd_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!copy.is_open()) return cannot("cannot list", path_);
    return listed(copy, std::move(listing));
  }

  [[nodiscard]] Result<std::optional<std::string>> read(const std::string& name) override {
    // Not blocking: a pipe would keep us waiting for a writer.
    const Descriptor file(
        ::openat(fd_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!file.is_open() && errno == ENOENT) return std::nullopt;
    if (!file.is_open() && errno == ELOOP) return not_a_file(name);
    if (!file.is_open()) return cannot("cannot open", name);
    struct stat status{};
    if (::fstat(file.get(), &status) != 0) return cannot("cannot look at", name);
    if (!S_ISREG(status.st_mode)) return not_a_file(name);
    auto bytes = read_all(file, name, static_cast<std::size_t>(status.st_size));
    if (!bytes) return forward(bytes);
    return *std::move(bytes);
  }

  [[nodiscard]] Result<void> write(const std::string& name, const std::string& bytes) override {
    const std::string fresh = "." + name + ".new";
    // A process that died may have left one.
    if (::unlinkat(fd_.get(), fresh.c_str(), 0) != 0 && errno != ENOENT) {
      return cannot("cannot remove", fresh);
    }
    {
      const Descriptor file(
          ::openat(fd_.get(), fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
      if (!file.is_open()) return cannot("cannot make", fresh);
      if (auto written = write_all(file, fresh, bytes); !written) return written;
    }
    if (::renameat(fd_.get(), fresh.c_str(), fd_.get(), name.c_str()) == 0) return {};
    return cannot("cannot rename to", name);
  }

  [[nodiscard]] Result<void> remove(const std::string& name) override {
    if (::unlinkat(fd_.get(), name.c_str(), 0) == 0 || errno == ENOENT) return {};
    return cannot("cannot remove", name);
  }

 private:
  static std::unexpected<Error> not_a_file(const std::string& name) {
    return fail(ErrorCode::invalid_argument, name + " is no plain file");
  }

  // Somebody may have moved or removed it, and made another one.
  [[nodiscard]] Result<void> check_place(const struct stat& ours) const {
    struct stat there{};
    if (::lstat(path_.c_str(), &there) == 0 && there.st_ino == ours.st_ino &&
        there.st_dev == ours.st_dev) {
      return {};
    }
    return fail(ErrorCode::not_found, path_ + " is no longer there");
  }

  [[nodiscard]] Result<Listing> listed(const Descriptor& copy, Listing listing) const {
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(::dup(copy.get())), ::closedir);
    if (!entries) return cannot("cannot list", path_);
    // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody else has this stream.
    while (const dirent* entry = ::readdir(entries.get())) {
      const std::string name = static_cast<const char*>(entry->d_name);
      struct stat status{};
      if (name == "." || name == "..") continue;
      if (::fstatat(fd_.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
      listing.files.push_back(
          {.name = name, .stamp = stamp_of(status), .is_file = S_ISREG(status.st_mode)});
    }
    return listing;
  }

  std::string path_;
  Descriptor fd_;
};

bool is_plain(const std::string& session) { return check_scratch_key(session).has_value(); }

}  // namespace

Result<std::unique_ptr<Folder>> open_folder(const std::string& root, const std::string& name) {
  std::error_code error;
  const std::filesystem::path base(root);
  std::filesystem::create_directories(base, error);
  if (error) {
    return fail(ErrorCode::unavailable, fmt::format("cannot make {}: {}", root, error.message()));
  }
  const std::string path = (base / name).string();
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return cannot("cannot make", path);
  Descriptor fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd.is_open() && (errno == ELOOP || errno == ENOTDIR)) {
    return fail(ErrorCode::invalid_argument, path + " is no folder");
  }
  if (!fd.is_open()) return cannot("cannot open", path);
  // The lock goes with the process, however it ends.
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    return fail(ErrorCode::lease_held, path + " is in use by another process");
  }
  return std::make_unique<PosixFolder>(path, std::move(fd));
}

std::string folder_name(const std::string& session) {
  return is_plain(session) ? session : "%" + to_hex(sha256(session));
}

}  // namespace perdure::scratch
