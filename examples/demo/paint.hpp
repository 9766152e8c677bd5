// Colour, for a terminal only; NO_COLOR (no-color.org) turns it off.

#pragma once

#include <string>

namespace demo {

[[nodiscard]] bool is_terminal();

[[nodiscard]] std::string bold(const std::string& text);
[[nodiscard]] std::string dim(const std::string& text);
/// Green, or red.
[[nodiscard]] std::string judged(const std::string& text, bool good);

}  // namespace demo
