// Linux's F_OFD_* commands, and the signals that interrupt them.

#include "files/file_lock.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <string>
#include <sys/stat.h>

#include "core/api/descriptor.hpp"
#include "perdure/core/error.hpp"

namespace perdure::sqlite {
namespace {

struct flock range(short type, off_t byte) {
  struct flock lock{};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  return lock;
}

int apply(const Descriptor& file, int command, struct flock& lock) {
  int code = 0;
  do {
    code = fcntl(file.get(), command, &lock);
  } while (code != 0 && errno == EINTR);
  return code == 0 ? 0 : errno;
}

}  // namespace

Result<Descriptor> open_file(const std::string& path, mode_t rights) {
  int number = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, rights);
  // All who may write the store must be able to lock it, whatever the umask takes away.
  if (number >= 0 && rights != private_rights) ::fchmod(number, rights);
  if (number < 0 && errno == EEXIST) {
    number = ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, rights);
  }
  if (number >= 0) return Descriptor(number);
  // Others who can write to the folder could have us write to any file of ours.
  if (errno == ELOOP) {
    return fail(ErrorCode::unavailable,
                fmt::format("{} is a link, and is not followed: remove it", path));
  }
  return fail(ErrorCode::unavailable,
              fmt::format("cannot open {}: {}", path, std::strerror(errno)));
}

Result<Descriptor> make_file(std::string& begin) {
  begin += "XXXXXX";
  const int number = ::mkostemp(begin.data(), O_CLOEXEC);
  if (number >= 0) return Descriptor(number);
  return fail(ErrorCode::unavailable,
              fmt::format("cannot make {}: {}", begin, std::strerror(errno)));
}

int lock_byte(const Descriptor& file, off_t byte, LockWait wait) {
  auto lock = range(F_WRLCK, byte);
  return apply(file, wait == LockWait::yes ? F_OFD_SETLKW : F_OFD_SETLK, lock);
}

void unlock_byte(const Descriptor& file, off_t byte) {
  auto lock = range(F_UNLCK, byte);
  apply(file, F_OFD_SETLK, lock);
}

bool is_locked_elsewhere(const Descriptor& file, off_t byte) {
  auto lock = range(F_WRLCK, byte);
  return apply(file, F_OFD_GETLK, lock) != 0 || lock.l_type != F_UNLCK;
}

}  // namespace perdure::sqlite
