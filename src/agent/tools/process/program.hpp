// A program that is run to its end, with its output, and nothing left of it afterwards.
//
// It starts behind a gate: a shell that waits for one byte and then becomes the program. Before
// that byte its process is on record (leftovers.hpp); if this process dies first, the gate closes
// and the program never starts. So there is no program that nobody knows of.
//
// Its input is a file in memory: it may be read or not, without a pipe that could break.

#pragma once

#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <string>
#include <sys/types.h>
#include <vector>

#include "core/api/descriptor.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/calls.hpp"
#include "perdure/runtime/tool.hpp"

namespace perdure {

struct ProgramSpec {
  std::vector<std::string> argv{};         ///< The first is an absolute path.
  std::vector<std::string> environment{};  ///< NAME=value; all of it, nothing is inherited.
  std::string folder = "/";
  std::string input{};
  std::size_t output_bytes_max = 0;
  std::size_t errors_bytes_max = 0;
  Duration grace{2000};  ///< Between asking it to end and ending it.
  std::string state_folder{};
  std::string mark{};
  ToolProgress progress{};  ///< Told the lines of both outputs, as they come.
};

struct ProgramEnd {
  enum class How : std::uint8_t {
    exited,
    killed,   ///< By a signal.
    stopped,  ///< By us, because we were asked to.
    unknown,  ///< Somebody else in this process waited for it.
  };
  How how = How::unknown;
  int code = 0;  ///< Of its exit, or the signal.
  std::string output{};
  std::string errors{};
};

/// Returns when the program and all that it started have ended: what it left running is ended
/// then.
/// Fails: `unavailable`: it did not start, and nothing happened; or about "running": something of
/// it may still run.
[[nodiscard]] Result<ProgramEnd> run_program(const ProgramSpec& spec, const std::stop_token& stop);

/// The executable file that a name without a slash means. Fails: `not_found`.
[[nodiscard]] Result<std::string> find_program(const std::string& name);

// Starting a program behind its gate.

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
