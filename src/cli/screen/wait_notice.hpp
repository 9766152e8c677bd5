// Says after a while that something is waited for, so that a program that waits does not look like
// one that hangs.

#pragma once

#include <string>
#include <thread>

#include "perdure/core/time.hpp"
#include "screen/screen.hpp"

namespace perdure::cli {

/// Nobody else writes to `talk` while this lives.
class WaitNotice {
 public:
  WaitNotice(Screen& talk, std::string what, Duration after);

 private:
  std::jthread thread_;
};

}  // namespace perdure::cli
