// The codes are those that every terminal knows.

#include "paint.hpp"

#include <cstdlib>
#include <fmt/format.h>
#include <unistd.h>

namespace demo {
namespace {

std::string paint(const char* code, const std::string& text) {
  const char* no_color = std::getenv("NO_COLOR");
  if (!is_terminal() || (no_color != nullptr && *no_color != '\0')) return text;
  return fmt::format("\033[{}m{}\033[0m", code, text);
}

}  // namespace

bool is_terminal() { return isatty(STDOUT_FILENO) == 1; }

std::string bold(const std::string& text) { return paint("1", text); }
std::string dim(const std::string& text) { return paint("2", text); }
std::string judged(const std::string& text, bool good) { return paint(good ? "32" : "1;31", text); }

}  // namespace demo
