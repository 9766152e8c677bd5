// A tool's own words come before ours: try_emplace leaves them as they are.

#include "tools/process/environment_of.hpp"

#include <fmt/format.h>
#include <map>
#include <string>
#include <vector>

#include "tools/process/leftovers.hpp"

namespace perdure {

std::vector<std::string> environment_of(const std::string& mark,
                                        std::map<std::string, std::string> own) {
  own.try_emplace("PATH", "/usr/local/bin:/usr/bin:/bin");
  own.try_emplace("LANG", "C.UTF-8");
  std::vector<std::string> environment = {fmt::format("{}={}", mark_variable, mark)};
  for (const auto& [name, value] : own) environment.push_back(fmt::format("{}={}", name, value));
  return environment;
}

}  // namespace perdure
