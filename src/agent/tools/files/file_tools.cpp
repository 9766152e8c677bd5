// All of them over one set of roots, held open.

#include "perdure/agent/file_tools.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "perdure/agent/toolbox.hpp"
#include "perdure/core/error.hpp"
#include "tools/files/roots.hpp"
#include "tools/files/tools.hpp"

namespace perdure {

Result<std::vector<ToolSpec>> make_file_tools(const FileToolsSpec& spec) {
  auto opened = files::Roots::open(spec);
  if (!opened) return forward(opened);
  const auto roots = std::make_shared<const files::Roots>(*std::move(opened));
  std::vector<ToolSpec> tools = {files::read_tool(roots), files::list_tool(roots),
                                 files::search_tool(roots)};
  if (std::ranges::any_of(spec.roots, &FileRoot::is_writable)) {
    tools.push_back(files::write_tool(roots));
    tools.push_back(files::edit_tool(roots));
  }
  return tools;
}

}  // namespace perdure
