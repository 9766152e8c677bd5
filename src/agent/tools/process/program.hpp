// A program that is run to its end, with its output, and nothing left of it afterwards.
//
// It starts behind a gate: a shell that waits for one byte and then becomes the program. Before
// that byte its process is on record (leftovers.hpp); if this process dies first, the gate closes
// and the program never starts. So every program that runs is on record.
//
// Its input is a file in memory: it may be read or not, without a pipe that could break.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include "core/api/descriptor.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
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
    unknown,  ///< Other code in this process waited for it.
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

/// A process that has not become its program yet: it waits behind its gate.
struct Gated {
  pid_t pid = 0;
  Descriptor process{};  ///< Readable once it has ended.
  Descriptor gate{};     ///< A byte lets it continue; closing it ends it.
  Descriptor output{};
  Descriptor errors{};
};

/// Fails: `unavailable`; then there is no process.
[[nodiscard]] Result<Gated> spawn_gated(const ProgramSpec& spec);

/// Lets it become its program. False: it is gone.
[[nodiscard]] bool open_gate(Gated& gated);

// Output of which the beginning and the end are kept, and what is left out is said.

/// Around the number of bytes that are missing.
inline constexpr std::string_view cut_begin = "\n[… ";
inline constexpr std::string_view cut_end = " bytes left out …]\n";

class CappedText {
 public:
  /// Keeps at most `bytes_max`, half of it from the beginning.
  explicit CappedText(std::size_t bytes_max)
      : head_max_(bytes_max / 2), tail_max_(bytes_max - head_max_) {}

  void add(std::string_view bytes);

  [[nodiscard]] std::size_t left_out() const { return left_out_; }
  /// With a line in the middle that says how many bytes are missing, if any are. No character of
  /// UTF-8 is cut.
  [[nodiscard]] std::string text() const;

 private:
  std::size_t head_max_;
  std::size_t tail_max_;
  std::string head_{};
  std::string tail_{};
  std::size_t left_out_ = 0;
};

// Makes lines of what a program writes, and tells them as they end: at a line feed, or at a
// carriage return, as programs end the states of a bar.

class LineSplitter {
 public:
  /// `progress` must outlive it.
  explicit LineSplitter(const ToolProgress& progress) : progress_(progress) {}

  /// Empty lines are not told. Past the limits of tool.hpp bytes are not even looked at: a program
  /// that never stops writing costs nothing more.
  void add(std::string_view bytes);
  /// Tells a line that has no end.
  void end();

 private:
  const ToolProgress& progress_;
  std::string line_{};
  std::size_t told_ = 0;
};

// Programs that outlive the process that started them, found again and ended.
//
// Before a program starts, a link says which process it will be: `<mark>`, in a folder of the
// machine, leads nowhere, and its text is the process. So short a link takes no room on a full
// disk. A successor of a killed process reads it, and ends that process and its group before it
// asks what the call came to; and whatever else carries the mark in its environment, wherever it
// went. A process that is neither in the group nor carries the mark is not found: holding one that
// hides that well takes a sandbox.

/// The variable of the environment that holds the mark.
inline constexpr std::string_view mark_variable = "PERDURE_MARK";

/// Of one call, among those who share a folder for their records: others on the machine may have
/// calls of the same name.
[[nodiscard]] std::string mark_of(const std::string& folder, const std::string& call);

/// A process, identified uniquely: its number, when it began, and under which kernel.
struct ProcessName {
  pid_t pid = 0;
  std::string started{};  ///< In clock ticks since the kernel's start.
  std::string kernel{};   ///< Boot id, and the namespace of the numbers.
  bool operator==(const ProcessName&) const = default;
};

/// Nothing if there is no such process.
[[nodiscard]] std::optional<ProcessName> find_process(pid_t pid);

class Leftovers {
 public:
  /// `folder` is made if it is not there; it must be of this machine alone.
  Leftovers(std::string folder, std::string mark);

  /// Before the program starts. Fails: `unavailable`; then it must not start.
  [[nodiscard]] Result<void> record(const ProcessName& process);
  [[nodiscard]] bool has_record() const;
  /// All that is left of it is ended when this has returned. Nothing recorded and nothing there is
  /// not an error. Fails: `unavailable` if something could not be ended, or may be where this
  /// process cannot look.
  [[nodiscard]] Result<void> end();

 private:
  [[nodiscard]] std::string path() const { return folder_ + "/" + mark_; }

  std::string folder_;
  std::string mark_;
};

// What a program of an agent finds in its environment; nothing is inherited.

/// NAME=value: the mark that the program is found by, what its tool says, and where that says
/// nothing a PATH and a LANG.
[[nodiscard]] std::vector<std::string> environment_of(const std::string& mark,
                                                      std::map<std::string, std::string> own);

}  // namespace perdure
