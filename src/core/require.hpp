// Stops the process on a programmer's error.
//
// Not assert(): a release build that continued would write what it should not.

#pragma once

#include <cstdio>
#include <cstdlib>

namespace perdure {

inline void require(bool holds, const char* rule) {
  if (holds) [[likely]]
    return;
  std::fprintf(stderr, "perdure: stopped: %s\n", rule);
  std::abort();
}

}  // namespace perdure
