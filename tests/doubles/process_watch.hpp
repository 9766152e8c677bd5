// The end of a process that need not be a child of ours, as a descriptor that becomes readable.

#pragma once

#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

namespace perdure {

/// To be closed by the caller; negative if there is no such process. A direct call, since the
/// header of glibc 2.36 declares its function for C only.
[[nodiscard]] inline int watch_process(pid_t process) {
  return static_cast<int>(syscall(SYS_pidfd_open, process, 0));
}

}  // namespace perdure
