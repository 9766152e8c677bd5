// Byte 0 is the turn to write; byte `worker_base + n` belongs to worker n. Lock
// ranges need no bytes behind them, so the file stays a few bytes long.

#include "sqlite/lock_file.hpp"

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <string>
#include <unistd.h>
#include <utility>

#include "perdure/core/error.hpp"

namespace perdure::sqlite {
namespace {

constexpr off_t turn_byte = 0;
constexpr off_t worker_base = 4096;

struct flock range(short type, off_t byte) {
  struct flock lock{};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  return lock;
}

int apply(int descriptor, int command, struct flock& lock) {
  int code = 0;
  do {
    code = fcntl(descriptor, command, &lock);
  } while (code != 0 && errno == EINTR);
  return code;
}

}  // namespace

Result<LockFile> LockFile::open(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0) {
    return fail(ErrorCode::unavailable,
                fmt::format("cannot open the lock file {}: {}", path, std::strerror(errno)));
  }
  return LockFile(path, descriptor);
}

LockFile::~LockFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

LockFile::LockFile(LockFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

Result<void> LockFile::take_turn() {
  auto lock = range(F_WRLCK, turn_byte);
  if (apply(descriptor_, F_OFD_SETLKW, lock) == 0) return {};
  return fail(ErrorCode::unavailable,
              fmt::format("cannot lock {}: {}", path_, std::strerror(errno)));
}

void LockFile::end_turn() {
  auto lock = range(F_UNLCK, turn_byte);
  apply(descriptor_, F_OFD_SETLK, lock);
}

Result<void> LockFile::hold_worker(std::int64_t number) {
  auto lock = range(F_WRLCK, worker_base + number);
  if (apply(descriptor_, F_OFD_SETLK, lock) == 0) return {};
  return fail(ErrorCode::unavailable,
              fmt::format("cannot lock {}: {}", path_, std::strerror(errno)));
}

void LockFile::drop_worker(std::int64_t number) {
  auto lock = range(F_UNLCK, worker_base + number);
  apply(descriptor_, F_OFD_SETLK, lock);
}

bool LockFile::is_held_elsewhere(std::int64_t number) const {
  auto lock = range(F_WRLCK, worker_base + number);
  // If the kernel does not say, the worker passes for alive: nobody is robbed by mistake.
  return apply(descriptor_, F_OFD_GETLK, lock) != 0 || lock.l_type != F_UNLCK;
}

void LockFile::touch() {
  // A failed touch delays a waiter until its next look; it cannot lose a write.
  [[maybe_unused]] const auto written = ::pwrite(descriptor_, "perdure\n", 8, 0);
}

}  // namespace perdure::sqlite
