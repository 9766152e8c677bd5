// The one place that closes what a Descriptor owns.

#include "core/api/descriptor.hpp"

#include <unistd.h>

namespace perdure {

void Descriptor::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

}  // namespace perdure
