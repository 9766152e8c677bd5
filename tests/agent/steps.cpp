// A byte for each step: where it lies in the file is its number, whoever wrote it.

#include "agent/steps.hpp"

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <sstream>
#include <string>
#include <system_error>
#include <unistd.h>

#include "tools/fifo.hpp"

namespace perdure::agents {

bool Steps::take() const {
  const int file = ::open(spec_.file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const bool is_written = file >= 0 && ::write(file, ".", 1) == 1;
  const auto number = is_written ? ::lseek(file, 0, SEEK_CUR) : -1;
  ::close(file);
  if (number < 0) throw std::system_error(errno, std::generic_category(), spec_.file);
  if (static_cast<std::uint64_t>(number) != spec_.at) return false;
  ::kill(spec_.agent, spec_.signal);
  if (spec_.signal != SIGKILL) return true;
  if (spec_.takes_along) ::kill(::getpid(), SIGKILL);
  constexpr int patience_ms = 20'000;
  if (!has_ended(spec_.agent, patience_ms)) ::_exit(3);
  return true;
}

std::uint64_t Steps::taken() const {
  std::error_code none;
  const auto size = std::filesystem::file_size(spec_.file, none);
  return none ? 0 : size;
}

std::string to_text(const StepsSpec& spec) {
  return fmt::format("{} {} {} {} {}", spec.agent, spec.at, spec.signal, spec.takes_along ? 1 : 0,
                     spec.file);
}

StepsSpec steps_from(const std::string& text) {
  StepsSpec spec;
  std::istringstream words(text);
  words >> spec.agent >> spec.at >> spec.signal >> spec.takes_along >> spec.file;
  return spec;
}

}  // namespace perdure::agents
