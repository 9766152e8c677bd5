// Something to hide where there is nothing yet.
//
// A mount needs a place that is there. A hidden path that is missing would be the command's to make: a
// journal beside the store that SQLite would obey, a `.perdure` that leads the user's next command
// elsewhere. So before a command begins something empty is put there, and the mount goes over it.
//
// It is taken away once no command runs any more whose mounts need it: a kernel lets go of a mount
// whose place is removed, in every namespace. A book in the state folder names what was put, so that
// what a killed process left goes with the end of the next command.

#pragma once

#include <string>
#include <utility>
#include <vector>

#include "perdure/agent/shell_tool.hpp"
#include "perdure/core/descriptor.hpp"
#include "perdure/core/error.hpp"

namespace perdure {

class StandIns {
 public:
  /// For the hidden paths that are missing in writable roots; where nobody may write none is needed.
  /// Fails: `unavailable` if one cannot be made; then the command must not run.
  [[nodiscard]] static Result<StandIns> put(const ShellSpec& spec);

  StandIns(StandIns&& other) noexcept = default;
  StandIns& operator=(StandIns&& other) noexcept = delete;
  StandIns(const StandIns&) = delete;
  StandIns& operator=(const StandIns&) = delete;
  ~StandIns();

  /// What is there now in the place of what is missing: the path itself, or a folder that it would be in.
  [[nodiscard]] const std::vector<std::string>& places() const { return places_; }

 private:
  StandIns(std::string book, Descriptor shared)
      : book_(std::move(book)), shared_(std::move(shared)) {}

  std::string book_;
  std::vector<std::string> places_;
  Descriptor shared_;  ///< The book, locked as all do whose commands run.
};

}  // namespace perdure
