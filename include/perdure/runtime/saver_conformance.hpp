// Is this a CheckpointSaver? The header saver.hpp made executable, for anybody's class.
//
// No test framework is needed, and any will do:
//
//   for (const SaverCheck& check : saver_checks()) {
//     const auto problem = check.run([] { return std::make_unique<MySaver>(); });
//     if (problem) std::cerr << check.name << ": " << *problem << '\n';
//   }

#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/runtime/saver.hpp"

namespace perdure {

/// Makes an empty saver. Each check asks once.
using MakeSaver = std::function<std::unique_ptr<CheckpointSaver>()>;

struct SaverCheck {
  std::string_view name;  ///< What must hold, as one word: "ListIsNewestFirst".
  /// What does not hold, for a person; nothing if all is well. A saver that throws is a problem.
  std::function<std::optional<std::string>(const MakeSaver&)> run;
};

/// All of them. States are compared as JSON values: the order of members and the spelling
/// of a number do not count.
[[nodiscard]] std::vector<SaverCheck> saver_checks();

}  // namespace perdure
