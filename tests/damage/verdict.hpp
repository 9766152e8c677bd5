// What became of a damaged store: everything asked of it, and compared with the original.

#pragma once

#include <set>
#include <string>
#include <vector>

#include "damage/sample.hpp"

namespace perdure {

/// The files of a store as they were before they were damaged.
struct Files {
  std::string file;
  std::string log;     ///< The write-ahead log; may be empty.
  std::string lock{};  ///< The lock file, which says what the log must hold.
};

[[nodiscard]] Files read_files(const std::string& path);
void write_files(const std::string& path, const Files& files);

struct DamageVerdict {
  bool opened = false;
  bool found = false;                ///< Opening or the check said so.
  bool changed = false;              ///< An answer is another one than before.
  bool lost = false;                 ///< The check named the WAL; the rest is an earlier moment.
  std::vector<std::string> wrong{};  ///< What must not be: rules broken, each in a sentence.
};

/// Writes the files to a folder of their own, opens, reads and checks them, then salvages
/// them and looks at what that gave.
[[nodiscard]] DamageVerdict judge(const Files& damaged, const Sample& original);

}  // namespace perdure
