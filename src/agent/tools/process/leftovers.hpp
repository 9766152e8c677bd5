// Programs that outlive whoever started them, found again and ended.
//
// Before a program starts, a link says which process it will be: `<mark>`, in a folder of the
// machine, leads nowhere, and its text is the process. So short a link takes no room on a full disk.
// A successor of a killed process reads it, and ends that process and its group before it asks
// what the call came to; and whatever else carries the mark in its environment, wherever it went.
// A process that is neither in the group nor carries the mark is not found: whoever hides that
// well is not held here, but by a sandbox.

#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include "perdure/core/error.hpp"

namespace perdure {

/// The variable of the environment that holds the mark.
inline constexpr std::string_view mark_variable = "PERDURE_MARK";

/// Of one call, among those who share a folder for their records: others on the machine may have
/// calls of the same name.
[[nodiscard]] std::string mark_of(const std::string& folder, const std::string& call);

/// A process, as nobody else can be: its number, when it began, and under which kernel.
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
