// Starting a program behind its gate.

#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

#include "perdure/core/descriptor.hpp"
#include "perdure/core/error.hpp"
#include "tools/process/program.hpp"

namespace perdure {

/// A process that has not become its program yet.
struct Gated {
  pid_t pid = 0;
  Descriptor process{};  ///< Readable once it has ended.
  Descriptor gate{};     ///< A byte lets it go on; closing it ends it.
  Descriptor output{};
  Descriptor errors{};
};

/// Fails: `unavailable`; then there is no process.
[[nodiscard]] Result<Gated> spawn_gated(const ProgramSpec& spec);

/// Lets it become its program. False: it is gone.
[[nodiscard]] bool open_gate(Gated& gated);

}  // namespace perdure
