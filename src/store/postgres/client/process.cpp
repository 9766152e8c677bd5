// What the kernel says in /proc. A zombie runs nothing any more; but a first thread that ended
// before the others looks like one, so the others are counted.

#include "postgres/client/process.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <optional>
#include <signal.h>
#include <string>
#include <string_view>
#include <system_error>
#include <unistd.h>

namespace perdure::postgres {
namespace {

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

struct Stat {
  char state = '?';
  std::string start;
};

// The name of the program is in parentheses, and may have any bytes in it.
std::optional<Stat> read_stat(std::string_view pid) {
  const std::string line = first_line(fmt::format("/proc/{}/stat", pid));
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos || name_end + 2 >= line.size()) return std::nullopt;
  Stat stat{.state = line[name_end + 2], .start = {}};
  constexpr int fields_to_start = 20;  // From the state, field 3, to field 22.
  std::size_t at = name_end + 1;
  for (int i = 0; i < fields_to_start - 1 && at != std::string::npos; ++i) {
    at = line.find(' ', at + 1);
  }
  if (at == std::string::npos) return std::nullopt;
  stat.start = line.substr(at + 1, line.find(' ', at + 1) - at - 1);
  return stat;
}

bool has_other_threads(std::string_view pid) {
  std::error_code failed;
  const std::filesystem::directory_iterator threads(fmt::format("/proc/{}/task", pid), failed);
  return !failed && std::distance(begin(threads), end(threads)) > 1;
}

std::string read_machine() {
  const std::string boot = first_line("/proc/sys/kernel/random/boot_id");
  std::array<char, 64> space{};
  const ssize_t size = readlink("/proc/self/ns/pid", space.data(), space.size());
  if (boot.empty() || size <= 0) return {};
  return fmt::format("{}:{}:", boot,
                     std::string_view(space.data(), static_cast<std::size_t>(size)));
}

const std::string& machine() {
  static const std::string text = read_machine();
  return text;
}

// Also of one whose /proc this user may not see.
bool exists(std::string_view pid) {
  pid_t number = 0;
  const auto read = std::from_chars(pid.data(), pid.data() + pid.size(), number);
  if (read.ec != std::errc{} || number <= 0) return true;
  return kill(number, 0) == 0 || errno != ESRCH;
}

}  // namespace

// Not kept: a forked child is another process.
std::string own_process() {
  const std::string pid = std::to_string(getpid());
  const auto stat = read_stat(pid);
  if (machine().empty() || !stat) return {};
  return fmt::format("{}{}:{}", machine(), pid, stat->start);
}

std::string_view own_machine() { return machine(); }

bool has_ended(std::string_view process) {
  if (machine().empty() || !process.starts_with(machine())) return false;
  const std::string_view rest = process.substr(machine().size());
  const std::size_t colon = rest.find(':');
  if (colon == std::string_view::npos) return false;
  const std::string_view pid = rest.substr(0, colon);
  const auto stat = read_stat(pid);
  if (!stat) return !exists(pid);
  if (stat->start != rest.substr(colon + 1)) return true;
  return (stat->state == 'Z' || stat->state == 'X') && !has_other_threads(pid);
}

}  // namespace perdure::postgres
