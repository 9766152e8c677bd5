// A process that is no child of ours is watched by a descriptor.

#include "tools/fifo.hpp"

#include <poll.h>
#include <sys/types.h>
#include <unistd.h>

#include "doubles/process_watch.hpp"

namespace perdure {

bool has_ended(pid_t process, int ms_max) {
  const int watch = watch_process(process);
  if (watch < 0) return true;
  pollfd end{.fd = watch, .events = POLLIN, .revents = 0};
  const bool ended = ::poll(&end, 1, ms_max) == 1;
  ::close(watch);
  return ended;
}

}  // namespace perdure
