// The process is asked each time: no handler of fork(2) has to be there for it.

#include "core/api/own_process.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "perdure/core/error.hpp"

namespace perdure {

OwnProcess::OwnProcess() : pid_(::getpid()) {}

bool OwnProcess::is_here() const { return ::getpid() == pid_; }

Result<void> OwnProcess::check() const {
  if (is_here()) return {};
  return fail(ErrorCode::closed,
              fmt::format("this object belongs to process {}, and this is process {}: open the "
                          "store in this process",
                          pid_, ::getpid()));
}

}  // namespace perdure
