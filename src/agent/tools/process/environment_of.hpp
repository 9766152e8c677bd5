// What a program of an agent finds in its environment; nothing is inherited.

#pragma once

#include <map>
#include <string>
#include <vector>

namespace perdure {

/// NAME=value: the mark that the program is found by, what its tool says, and where that says
/// nothing a PATH and a LANG.
[[nodiscard]] std::vector<std::string> environment_of(const std::string& mark,
                                                      std::map<std::string, std::string> own);

}  // namespace perdure
