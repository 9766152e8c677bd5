// A number of a process means nothing by itself: it may be another's by now. A group's number
// stays taken as long as a member lives, so if the leader's number belongs to a process that began
// at another time, the group is gone. Each process found is held by a descriptor before it is
// looked at again and killed.

#include "tools/process/leftovers.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <ios>
#include <iterator>
#include <map>
#include <optional>
#include <poll.h>
#include <signal.h>
#include <sstream>
#include <string>
#include <string_view>
#include <sys/syscall.h>
#include <sys/types.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include "core/api/descriptor.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/sha256.hpp"

namespace perdure {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::string kernel_name() {
  const auto boot = text_of("/proc/sys/kernel/random/boot_id").value_or("");
  std::error_code ignored;
  const auto numbers = fs::read_symlink("/proc/self/ns/pid", ignored).string();
  constexpr std::size_t enough = 18;
  return boot.substr(0, enough) + " " + numbers;
}

// The fields after the name, which is in parentheses and may hold anything.
std::vector<std::string> stat_fields(pid_t pid) {
  const auto text = text_of(fmt::format("/proc/{}/stat", pid)).value_or("");
  const std::size_t after = text.rfind(')');
  std::vector<std::string> fields;
  if (after == std::string::npos) return fields;
  std::string_view rest = std::string_view(text).substr(after + 1);
  while (!rest.empty()) {
    rest.remove_prefix(std::min(rest.find_first_not_of(" \n"), rest.size()));
    const std::size_t end = std::min(rest.find_first_of(" \n"), rest.size());
    if (end > 0) fields.emplace_back(rest.substr(0, end));
    rest.remove_prefix(end);
  }
  return fields;
}

constexpr std::size_t field_state = 0;
constexpr std::size_t field_group = 2;
constexpr std::size_t field_started = 19;

bool is_of(pid_t pid, std::optional<pid_t> group, std::string_view mark) {
  const auto fields = stat_fields(pid);
  if (fields.size() <= field_started) return false;
  // A zombie does nothing any more.
  if (fields[field_state] == "Z" || fields[field_state] == "X") return false;
  if (group && fields[field_group] == std::to_string(*group)) return true;
  const auto environment = text_of(fmt::format("/proc/{}/environ", pid)).value_or("");
  const std::string wanted = fmt::format("{}={}", mark_variable, mark);
  for (std::size_t at = environment.find(wanted); at != std::string::npos;
       at = environment.find(wanted, at + 1)) {
    const bool is_begin = at == 0 || environment[at - 1] == '\0';
    const std::size_t end = at + wanted.size();
    if (is_begin && (end == environment.size() || environment[end] == '\0')) return true;
  }
  return false;
}

std::vector<pid_t> all_processes() {
  std::vector<pid_t> all;
  std::error_code error;
  for (fs::directory_iterator at("/proc", error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    pid_t pid = 0;
    const auto read = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (read.ec == std::errc() && read.ptr == name.data() + name.size()) all.push_back(pid);
  }
  return all;
}

// Held first, looked at then: what is killed is what was looked at.
std::vector<Descriptor> killed_now(std::optional<pid_t> group, std::string_view mark) {
  std::vector<Descriptor> killed;
  for (const pid_t pid : all_processes()) {
    if (pid == ::getpid() || !is_of(pid, group, mark)) continue;
    Descriptor process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (!process.is_open() || !is_of(pid, group, mark)) continue;
    ::syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0);
    killed.push_back(std::move(process));
  }
  return killed;
}

// A process may start another one while we look: until a whole look finds none.
Result<void> end_marked(std::optional<pid_t> group, std::string_view mark) {
  constexpr int looks_max = 50;
  constexpr int death_ms_max = 2000;
  for (int look = 0; look < looks_max; ++look) {
    const auto killed = killed_now(group, mark);
    if (killed.empty()) return {};
    for (const Descriptor& process : killed) {
      pollfd end{.fd = process.get(), .events = POLLIN, .revents = 0};
      if (::poll(&end, 1, death_ms_max) == 1) continue;
      return fail(ErrorCode::unavailable, "a program of an earlier attempt does not end");
    }
  }
  return fail(ErrorCode::unavailable,
              "a program of an earlier attempt starts itself again and again");
}

std::string text_of(const ProcessName& process) {
  return fmt::format("{} {} {}", process.pid, process.started, process.kernel);
}

std::optional<ProcessName> name_from(const std::string& text) {
  std::istringstream words(text);
  ProcessName name;
  std::string numbers;
  if (!(words >> name.pid >> name.started >> name.kernel >> numbers)) return std::nullopt;
  name.kernel += " " + numbers;
  if (text_of(name) != text) return std::nullopt;
  return name;
}

}  // namespace

std::optional<ProcessName> find_process(pid_t pid) {
  const auto fields = stat_fields(pid);
  if (fields.size() <= field_started) return std::nullopt;
  return ProcessName{.pid = pid, .started = fields[field_started], .kernel = kernel_name()};
}

std::string mark_of(const std::string& folder, const std::string& call) {
  constexpr std::size_t digits = 32;
  return to_hex(sha256(folder + '\0' + call)).substr(0, digits);
}

Leftovers::Leftovers(std::string folder, std::string mark)
    : folder_(std::move(folder)), mark_(std::move(mark)) {}

Result<void> Leftovers::record(const ProcessName& process) {
  std::error_code error;
  fs::create_directories(folder_, error);
  const std::string temporary = fmt::format("{}.{}.new", path(), process.pid);
  fs::remove(temporary, error);
  // Not synced: it is needed after the death of a process, and a machine takes its programs along.
  fs::create_symlink(text_of(process), temporary, error);
  if (!error) fs::rename(temporary, path(), error);
  if (!error) return {};
  return fail(ErrorCode::unavailable, fmt::format("cannot write {}: {}", path(), error.message()));
}

bool Leftovers::has_record() const {
  std::error_code ignored;
  return fs::symlink_status(path(), ignored).type() != fs::file_type::not_found;
}

Result<void> Leftovers::end() {
  std::optional<pid_t> group;
  if (has_record()) {
    std::error_code unreadable;
    const auto recorded = name_from(fs::read_symlink(path(), unreadable).string());
    if (!recorded) return fail(ErrorCode::unavailable, path() + " cannot be read");
    const std::string here = kernel_name();
    const bool is_same_boot =
        recorded->kernel.substr(0, recorded->kernel.find(' ')) == here.substr(0, here.find(' '));
    if (is_same_boot && recorded->kernel != here) {
      return fail(ErrorCode::unavailable,
                  "a program of an earlier attempt was started in another container");
    }
    const auto now = find_process(recorded->pid);
    const bool is_reused = now && now->started != recorded->started;
    if (is_same_boot && !is_reused) group = recorded->pid;
  }
  if (auto ended = end_marked(group, mark_); !ended) return ended;
  std::error_code ignored;
  fs::remove(path(), ignored);
  return {};
}

std::vector<std::string> environment_of(const std::string& mark,
                                        std::map<std::string, std::string> own) {
  own.try_emplace("PATH", "/usr/local/bin:/usr/bin:/bin");
  own.try_emplace("LANG", "C.UTF-8");
  std::vector<std::string> environment = {fmt::format("{}={}", mark_variable, mark)};
  for (const auto& [name, value] : own) environment.push_back(fmt::format("{}={}", name, value));
  return environment;
}

}  // namespace perdure
