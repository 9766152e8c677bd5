// One loop over everything that may happen: output, the end, a request to stop, the end of
// patience. Timers are descriptors too; no clock is read.

#include "tools/process/program.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <expected>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <ios>
#include <iterator>
#include <map>
#include <optional>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sstream>
#include <stdlib.h>
#include <stop_token>
#include <string>
#include <string_view>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include "core/api/descriptor.hpp"
#include "core/api/wording.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/tool.hpp"
#include "runtime/api/session.hpp"

namespace perdure {
namespace {

constexpr int gate_number = 3;
constexpr std::string_view wait_at_gate = R"(read -r go <&3 || exit 75; exec 3<&-; exec "$@")";

std::unexpected<Error> cannot_start(std::string_view what, int error) {
  return fail(ErrorCode::unavailable,
              std::string(what) + ": " + std::generic_category().message(error));
}

// Above the numbers that the child's descriptors get, so that none is overwritten before its turn.
Descriptor moved_up(int fd) {
  constexpr int first = 16;
  const Descriptor low(fd);
  return Descriptor(::fcntl(fd, F_DUPFD_CLOEXEC, first));
}

struct Pair {
  Descriptor ours{};
  Descriptor theirs{};
  [[nodiscard]] bool is_open() const { return ours.is_open() && theirs.is_open(); }
};

Pair pipe_from_child() {
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return {};
  Pair pair{.ours = moved_up(ends[0]), .theirs = moved_up(ends[1])};
  ::fcntl(pair.ours.get(), F_SETFL, O_NONBLOCK);
  return pair;
}

// A socket and not a pipe: writing to one whose other end is gone must not raise a signal.
Pair gate_to_child() {
  std::array<int, 2> ends{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return {};
  return {.ours = moved_up(ends[0]), .theirs = moved_up(ends[1])};
}

Descriptor file_of(std::string_view bytes) {
  Descriptor file = moved_up(::memfd_create("input", MFD_CLOEXEC));
  while (file.is_open() && !bytes.empty()) {
    const ssize_t n = ::write(file.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return {};
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  if (file.is_open() && ::lseek(file.get(), 0, SEEK_SET) != 0) return {};
  return file;
}

class Actions {
 public:
  Actions() { posix_spawn_file_actions_init(&actions_); }
  Actions(const Actions&) = delete;
  Actions& operator=(const Actions&) = delete;
  ~Actions() { posix_spawn_file_actions_destroy(&actions_); }

  [[nodiscard]] int give(const Descriptor& from, int number) {
    return posix_spawn_file_actions_adddup2(&actions_, from.get(), number);
  }
  [[nodiscard]] int close_from(int number) {
    return posix_spawn_file_actions_addclosefrom_np(&actions_, number);
  }
  [[nodiscard]] int enter(const std::string& folder) {
    return posix_spawn_file_actions_addchdir_np(&actions_, folder.c_str());
  }
  [[nodiscard]] const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

class Attributes {
 public:
  Attributes() {
    posix_spawnattr_init(&attributes_);
    sigset_t signals;
    sigfillset(&signals);
    posix_spawnattr_setsigdefault(&attributes_, &signals);
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes_, &signals);
    posix_spawnattr_setflags(&attributes_,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  ~Attributes() { posix_spawnattr_destroy(&attributes_); }
  [[nodiscard]] const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Result<Gated> spawn_gated(const ProgramSpec& spec) {
  const Descriptor input = file_of(spec.input);
  Pair output = pipe_from_child();
  Pair errors = pipe_from_child();
  Pair gate = gate_to_child();
  if (!input.is_open() || !output.is_open() || !errors.is_open() || !gate.is_open()) {
    return cannot_start("no descriptors for a program", errno);
  }
  Actions actions;
  for (const int failed :
       {actions.enter(spec.folder), actions.give(input, STDIN_FILENO),
        actions.give(output.theirs, STDOUT_FILENO), actions.give(errors.theirs, STDERR_FILENO),
        actions.give(gate.theirs, gate_number), actions.close_from(gate_number + 1)}) {
    if (failed != 0) return cannot_start("cannot prepare a program", failed);
  }
  std::vector<std::string> argv = {"sh", "-c", std::string(wait_at_gate), "sh"};
  argv.insert(argv.end(), spec.argv.begin(), spec.argv.end());
  std::vector<std::string> environment = spec.environment;
  const Attributes attributes;
  pid_t pid = 0;
  const int failed = posix_spawn(&pid, "/bin/sh", actions.get(), attributes.get(),
                                 pointers_to(argv).data(), pointers_to(environment).data());
  if (failed != 0) return cannot_start("cannot start a program in " + spec.folder, failed);
  Gated gated{.pid = pid,
              .process = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))),
              .gate = std::move(gate.ours),
              .output = std::move(output.ours),
              .errors = std::move(errors.ours)};
  if (!gated.process.is_open()) {
    const int error = errno;
    gated.gate.close();
    ::waitpid(pid, nullptr, 0);
    return cannot_start("cannot watch a program", error);
  }
  return gated;
}

bool open_gate(Gated& gated) {
  const bool is_open = ::send(gated.gate.get(), "\n", 1, MSG_NOSIGNAL) == 1;
  gated.gate.close();
  return is_open;
}

namespace {

struct Signal {
  int event;
  void operator()() const {
    const std::uint64_t one = 1;
    // It cannot fail but by being full, and then it is readable anyway.
    [[maybe_unused]] const auto written = ::write(event, &one, sizeof(one));
  }
};

// What a program writes to one of its outputs: kept for its result, and told as it comes.
class ProgramOutput {
 public:
  ProgramOutput(std::size_t bytes_max, const ToolProgress& progress)
      : kept_(bytes_max), lines_(progress) {}

  void add(std::string_view bytes) {
    kept_.add(bytes);
    lines_.add(bytes);
  }
  /// All that is kept.
  [[nodiscard]] std::string end() {
    lines_.end();
    return kept_.text();
  }

 private:
  CappedText kept_;
  LineSplitter lines_;
};

class RunningProgram {
 public:
  RunningProgram(const ProgramSpec& spec, Gated gated, Leftovers& leftovers,
                 const std::stop_token& stop)
      : spec_(spec),
        leftovers_(leftovers),
        gated_(std::move(gated)),
        output_(spec.output_bytes_max, spec.progress),
        errors_(spec.errors_bytes_max, spec.progress),
        event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)),
        callback_(stop, Signal{event_.get()}) {}

  ProgramEnd run() {
    while (!has_ended_) step();
    // Until it is waited for, its pid and its group's id cannot be reused.
    ::kill(-gated_.pid, SIGKILL);
    ProgramEnd end = waited_for();
    left_ = leftovers_.end();
    drain();
    end.output = output_.end();
    end.errors = errors_.end();
    return end;
  }
  /// Whether all that it started has ended.
  [[nodiscard]] const Result<void>& left() const { return left_; }

 private:
  void set_timer(Duration wait) {
    const auto ms = wait.count() > 0 ? wait.count() : 1;
    const itimerspec time{.it_interval = {}, .it_value = {ms / 1000, ms % 1000 * 1'000'000}};
    ::timerfd_settime(timer_.get(), 0, &time, nullptr);
  }

  void step() {
    std::array<pollfd, 5> all = {{{gated_.process.get(), POLLIN, 0},
                                  {gated_.output.get(), POLLIN, 0},
                                  {gated_.errors.get(), POLLIN, 0},
                                  {is_stopping_ ? -1 : event_.get(), POLLIN, 0},
                                  {timer_.get(), POLLIN, 0}}};
    if (::poll(all.data(), all.size(), -1) < 0) return;
    if (all[1].revents != 0) read(gated_.output, output_);
    if (all[2].revents != 0) read(gated_.errors, errors_);
    has_ended_ = all[0].revents != 0;
    if (has_ended_) return;
    if (all[3].revents != 0) {
      is_stopping_ = true;
      ::kill(-gated_.pid, SIGTERM);
      set_timer(spec_.grace);
    }
    if (all[4].revents != 0) ::kill(-gated_.pid, SIGKILL);
  }

  // What is in the pipes when all writers are dead; not for ever, should one have hidden.
  void drain() {
    set_timer(Duration(500));
    while (gated_.output.is_open() || gated_.errors.is_open()) {
      std::array<pollfd, 3> all = {{{gated_.output.get(), POLLIN, 0},
                                    {gated_.errors.get(), POLLIN, 0},
                                    {timer_.get(), POLLIN, 0}}};
      if (::poll(all.data(), all.size(), -1) < 0) continue;
      if (all[2].revents != 0) return;
      if (all[0].revents != 0) read(gated_.output, output_);
      if (all[1].revents != 0) read(gated_.errors, errors_);
    }
  }

  // At most so much at a time: a program that never stops writing must not keep us from the rest.
  static void read(Descriptor& from, ProgramOutput& into) {
    std::array<char, 65536> bytes;  // NOLINT: filled by read.
    const ssize_t n = ::read(from.get(), bytes.data(), bytes.size());
    if (n > 0) into.add({bytes.data(), static_cast<std::size_t>(n)});
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) from.close();
  }

  [[nodiscard]] ProgramEnd waited_for() const {
    int status = 0;
    pid_t waited = 0;
    do {
      waited = ::waitpid(gated_.pid, &status, 0);
    } while (waited < 0 && errno == EINTR);
    ProgramEnd end;
    if (waited != gated_.pid) return end;
    end.how = WIFEXITED(status) ? ProgramEnd::How::exited : ProgramEnd::How::killed;
    end.code = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
    // A program that ended by itself when it was asked to may have said how.
    if (is_stopping_ && end.how == ProgramEnd::How::killed) end.how = ProgramEnd::How::stopped;
    return end;
  }

  const ProgramSpec& spec_;
  Leftovers& leftovers_;
  Gated gated_;
  ProgramOutput output_;
  ProgramOutput errors_;
  Descriptor event_;
  Descriptor timer_;
  std::stop_callback<Signal> callback_;
  bool is_stopping_ = false;
  bool has_ended_ = false;
  Result<void> left_{};
};

}  // namespace

Result<ProgramEnd> run_program(const ProgramSpec& spec, const std::stop_token& stop) {
  Leftovers leftovers(spec.state_folder, spec.mark);
  // What has no record was never started.
  auto ended = leftovers.has_record() ? leftovers.end() : Result<void>();
  if (!ended) return fail(ErrorCode::unavailable, ended.error().message, "running");
  if (stop.stop_requested()) return fail(ErrorCode::unavailable, "asked to stop before it started");
  auto gated = spawn_gated(spec);
  if (!gated) return forward(gated);
  const auto process = find_process(gated->pid);
  auto recorded = process ? leftovers.record(*process)
                          : Result<void>(fail(ErrorCode::unavailable, "it was killed at once"));
  if (!recorded || !open_gate(*gated)) {
    ::kill(-gated->pid, SIGKILL);
    ::waitpid(gated->pid, nullptr, 0);
    if (!recorded) return forward(recorded);
    return fail(ErrorCode::unavailable, "it was killed before it started");
  }
  RunningProgram running(spec, *std::move(gated), leftovers, stop);
  ProgramEnd end = running.run();
  if (!running.left()) {
    return fail(ErrorCode::unavailable, running.left().error().message, "running");
  }
  return end;
}

Result<std::string> find_program(const std::string& name) {
  const auto is_program = [](const std::string& path) { return ::access(path.c_str(), X_OK) == 0; };
  if (name.find('/') != std::string::npos) {
    if (name.starts_with('/') && is_program(name)) return name;
    return fail(ErrorCode::not_found,
                name + " is no program; give a name, or the whole path of a file that may be run");
  }
  for (const std::string_view folder : {"/usr/local/bin/", "/usr/bin/", "/bin/"}) {
    std::string path = std::string(folder) + name;
    if (is_program(path)) return path;
  }
  return fail(ErrorCode::not_found, "there is no program " + name);
}

// The tail is cut only once it is twice as long as it may be: each byte is moved once or twice.

void CappedText::add(std::string_view bytes) {
  const std::size_t into_head = std::min(bytes.size(), head_max_ - head_.size());
  head_ += bytes.substr(0, into_head);
  tail_ += bytes.substr(into_head);
  if (tail_.size() <= 2 * tail_max_) return;
  const std::size_t extra = tail_.size() - tail_max_;
  left_out_ += extra;
  tail_.erase(0, extra);
}

std::string CappedText::text() const {
  const std::size_t extra = tail_.size() - std::min(tail_.size(), tail_max_);
  if (left_out_ + extra == 0) return head_ + tail_;
  const std::string_view head = whole_characters(head_);
  // A sequence that began before the cut ends in the tail's first bytes.
  std::size_t from = extra;
  while (from < tail_.size() && from < extra + 3 &&
         (static_cast<unsigned char>(tail_[from]) & 0xC0U) == 0x80U) {
    ++from;
  }
  const std::size_t missing = left_out_ + from + (head_.size() - head.size());
  return fmt::format("{}{}{}{}{}", head, cut_begin, missing, cut_end,
                     std::string_view(tail_).substr(from));
}

// The rest of a line that is too long is passed over, and never begins a line of its own: a secret
// that the cut goes through has its beginning where scrubbing looks for one.

void LineSplitter::add(std::string_view bytes) {
  while (!bytes.empty() && progress_.is_watched() && told_ < progress_lines_max) {
    const std::size_t size = std::min(bytes.find_first_of("\r\n"), bytes.size());
    line_ += bytes.substr(0, std::min(size, progress_line_bytes_max - line_.size()));
    if (size == bytes.size()) return;
    end();
    bytes.remove_prefix(size + 1);
  }
}

void LineSplitter::end() {
  if (const auto whole = whole_characters(line_); !whole.empty()) {
    progress_(whole);
    ++told_;
  }
  line_.clear();
}

// A number of a process means nothing by itself: it may be another's by now. A group's number
// stays taken as long as a member lives, so if the leader's number belongs to a process that began
// at another time, the group is gone. Each process found is held by a descriptor before it is
// looked at again and killed.

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
