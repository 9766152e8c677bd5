// The single tools; file_tools.cpp puts them together.

#pragma once

#include <memory>
#include <string_view>

#include "perdure/agent/toolbox.hpp"
#include "tools/files/roots.hpp"

namespace perdure::files {

// What tools share lives as long as any of them, or of the copies that attempts make.
using SharedRoots = std::shared_ptr<const Roots>;

[[nodiscard]] ToolSpec read_tool(const SharedRoots& roots);
[[nodiscard]] ToolSpec list_tool(const SharedRoots& roots);
[[nodiscard]] ToolSpec search_tool(const SharedRoots& roots);
[[nodiscard]] ToolSpec write_tool(const SharedRoots& roots);
[[nodiscard]] ToolSpec edit_tool(const SharedRoots& roots);

/// Whether bytes are no text: not UTF-8, or with a zero byte.
[[nodiscard]] bool is_binary(std::string_view bytes);

}  // namespace perdure::files
