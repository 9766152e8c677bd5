// Killing a writer again and again, and writing down what it had said.

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "perdure/store/entry.hpp"

namespace demo {

using perdure::Version;
using Milliseconds = std::chrono::duration<double, std::milli>;

/// What all writers together said.
struct Record {
  std::map<Version, std::string> acknowledged;  ///< Turn to chain hash.
  std::vector<Milliseconds> recoveries;         ///< From process start to the first new commit.
  int kills = 0;
  int present = 0;                    ///< Killed inside a commit that the next writer found, whole.
  int absent = 0;                     ///< Killed inside a commit of which nothing was found.
  std::vector<std::string> troubles;  ///< Contradictions; empty if all is well.
};

struct Plan {
  std::string store_path;
  int kills = 25;
  std::uint64_t seed = 0;
};

/// Called after each kill.
using Progress = std::function<void(const Record&)>;

[[nodiscard]] Record run_trial(const Plan& plan, const Progress& progress);

}  // namespace demo
