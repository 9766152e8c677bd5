// A tool that is a program: any language, any machine code.
//
// It gets its arguments as JSON on stdin and writes its result to stdout. Its exit code says what
// came of it:
//
//   0      done; stdout is the result
//   75     this run did nothing (EX_TEMPFAIL); stderr says why. An earlier attempt of the call may
//          have taken effect all the same: then it is tried again with the same key, or in doubt
//   76     the operation did not happen and will not, whatever became of earlier attempts; stderr
//          says why. The call has failed
//   other  as the spec declares it; else of a tool that only reads an error that the model is told,
//          and of any other unknown: verified, or in doubt
//
// A death by a signal, or past the timeout, is unknown. The verify program gets the same
// arguments: 0 is "it took effect" (stdout is the result), 75 "it did not", anything else "cannot
// tell". Not 1: a script that breaks exits with 1, and would be run twice for it.
//
// In the environment: PERDURE_KEY (the same for every attempt of a call; not set for tools that
// only read), PERDURE_ATTEMPT, PERDURE_MARK; for a run PERDURE_SESSION, PERDURE_CALL
// and PERDURE_FENCE; for verify PERDURE_DISPATCHED_AT. Besides these PATH, LANG and what the spec
// says. Nothing is inherited.
//
// It runs in a session and process group of its own, without a terminal. When it ends, or is asked
// to, whatever it left running is ended. If our process dies, the next one ends what is left of
// the program before it verifies it, runs it again, or asks about it: its process is on record before
// it starts.

#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "perdure/agent/toolbox.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/tool.hpp"

namespace perdure {

struct ExecSpec {
  /// Name, description, schema and declarations; `run`, `verify`, `end_leftovers` and the folder of
  /// its paths are filled in.
  ToolSpec spec{};
  /// A name in /usr/local/bin, /usr/bin or /bin, or a whole path; then its arguments, as they are.
  std::vector<std::string> command{};
  std::vector<std::string> verify{};  ///< Empty: it cannot be verified.
  std::map<std::string, std::string> environment{};
  std::string folder = "/";  ///< Where it runs.
  /// Where programs are on record while they run. Of this machine alone, the same for every process
  /// that may take a session up here, whoever runs it, and another for every store: whoever takes a
  /// session up ends what its dead owner left, and must not end what the session's copy in another
  /// store runs.
  std::string state_folder{};
  std::vector<int> error_codes{};    ///< Done, and the answer is an error.
  std::vector<int> nothing_codes{};  ///< This run did nothing, as 75.
  std::size_t output_bytes_max = std::size_t{256} << 10U;
  std::size_t errors_bytes_max = std::size_t{16} << 10U;
  Duration grace{2000};  ///< Between SIGTERM and SIGKILL.
};

/// Fails: `not_found` for a program that is not there; `invalid_argument` for an empty command, a
/// bad variable, a code that is declared twice or is 0, no state folder.
[[nodiscard]] Result<ToolSpec> make_exec_tool(ExecSpec spec);

}  // namespace perdure
