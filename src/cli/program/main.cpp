// The program: the real streams, terminal, environment and user, handed to run().

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <iostream>
#include <optional>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <streambuf>
#include <string>
#include <sys/ioctl.h>
#include <system_error>
#include <unistd.h>
#include <vector>

#include "context/settings.hpp"
#include "context/signal_watch.hpp"
#include "perdure/agent/tools.hpp"
#include "perdure/core/time.hpp"
#include "program/cli.hpp"

namespace {

/// Writes to a descriptor, and knows why it could not.
class DescriptorBuffer : public std::streambuf {
 public:
  explicit DescriptorBuffer(int descriptor) : descriptor_(descriptor) {
    setp(room_.data(), room_.data() + room_.size());
  }
  [[nodiscard]] int error() const { return error_; }

 protected:
  int_type overflow(int_type letter) override {
    if (sync() != 0) return traits_type::eof();
    if (traits_type::eq_int_type(letter, traits_type::eof())) return traits_type::not_eof(letter);
    return sputc(traits_type::to_char_type(letter));
  }

  int sync() override {
    const char* at = pbase();
    if (at == pptr() && error_ == 0 && is_left()) error_ = EPIPE;
    while (at < pptr() && error_ == 0) {
      const ssize_t written = ::write(descriptor_, at, static_cast<std::size_t>(pptr() - at));
      if (written >= 0) {
        at += written;
      } else if (errno != EINTR) {
        error_ = errno;
      }
    }
    setp(room_.data(), room_.data() + room_.size());
    return error_ == 0 ? 0 : -1;
  }

 private:
  /// A caller with nothing to write would not notice otherwise.
  [[nodiscard]] bool is_left() const {
    pollfd reader{descriptor_, 0, 0};
    return ::poll(&reader, 1, 0) == 1 && (reader.revents & POLLERR) != 0;
  }

  int descriptor_;
  int error_ = 0;
  std::array<char, 1U << 16U> room_{};
};

/// A stream that was closed leaves its number to the next file that is opened, and our output would
/// go into the store. /dev/null takes its place, read-only: a write fails and is reported.
void hold_closed_streams() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) < 0 && ::open("/dev/null", O_RDONLY) != descriptor) ::_exit(1);
  }
}

int terminal_columns() {
  winsize size{};
  for (const int descriptor : {STDOUT_FILENO, STDERR_FILENO}) {
    if (::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  }
  return 80;
}

std::optional<std::string> variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe): never set.
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

std::string user_name(const passwd* entry) {
  if (const auto user = variable("USER"); user && !user->empty()) return *user;
  return entry == nullptr ? "unknown" : entry->pw_name;
}

/// Where HOME is not set, it is the user's own, as the system has it on record.
perdure::Environment environment_of(const passwd* entry) {
  std::optional<std::string> home = variable("HOME");
  if (!home && entry != nullptr) home = entry->pw_dir;
  return [home](const std::string& name) { return name == "HOME" ? home : variable(name); };
}

std::optional<std::string> ask_line() {
  std::string line;
  if (!std::getline(std::cin, line)) return std::nullopt;
  return line;
}

}  // namespace

int main(int count, char** words) {
  hold_closed_streams();
  // Before anything that may take a while, and before any other thread.
  perdure::cli::SignalWatch signals(perdure::system_clock());
  // A reader that hangs up shows as a failed write, and ends the program quietly.
  std::signal(SIGPIPE, SIG_IGN);
  // A file at its size limit shows as a failed write, too.
  std::signal(SIGXFSZ, SIG_IGN);
  DescriptorBuffer out_buffer(STDOUT_FILENO);
  DescriptorBuffer err_buffer(STDERR_FILENO);
  std::ostream out(&out_buffer);
  std::ostream err(&err_buffer);
  err << std::unitbuf;
  err.tie(&out);  // Earlier output appears earlier.
  std::error_code ignored;
  const passwd* entry =
      ::getpwuid(::getuid());  // NOLINT(concurrency-mt-unsafe): before any thread.
  perdure::cli::ProcessIo io{.out = out,
                             .err = err,
                             .is_out_terminal = ::isatty(STDOUT_FILENO) == 1,
                             .is_err_terminal = ::isatty(STDERR_FILENO) == 1,
                             .is_in_terminal = ::isatty(STDIN_FILENO) == 1,
                             .columns = terminal_columns(),
                             .measure_columns = terminal_columns,
                             .environment = environment_of(entry),
                             .folder = std::filesystem::current_path(ignored).string(),
                             .user = user_name(entry),
                             .ask_line = ask_line,
                             .in = &std::cin,
                             .signals = &signals};
  const int exit = perdure::cli::run(io, std::vector<std::string>(words + 1, words + count));
  out.flush();
  if (out_buffer.error() == 0 || out_buffer.error() == EPIPE || io.is_output_told) return exit;
  err << "perdure: the output cannot be written: "
      << std::generic_category().message(out_buffer.error()) << '\n';
  return 1;
}
