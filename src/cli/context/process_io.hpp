// What the program is given from outside: streams, terminal, environment, time, identity. A test
// hands in its own; program/main.cpp has the real ones.

#pragma once

#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <unistd.h>

#include "perdure/agent/secrets.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"

namespace perdure::cli {

class SignalWatch;

/// The subject of errors that are about `ProcessIo::out`.
inline constexpr std::string_view output_subject = "stdout";

struct ProcessIo {
  std::ostream& out;  ///< Data.
  std::ostream& err;  ///< Talk.
  bool is_out_terminal = false;
  bool is_err_terminal = false;
  bool is_in_terminal = false;
  int columns = 80;                        ///< Of the terminal.
  std::function<int()> measure_columns{};  ///< As they are now; none: they stay.
  Environment environment{};
  std::string folder{};                                    ///< Where it was started.
  std::string user{};                                      ///< Who decides.
  uid_t user_id = ::geteuid();                             ///< Whose files are ours.
  std::function<std::optional<std::string>()> ask_line{};  ///< A line typed at the terminal.
  std::istream* in = nullptr;                              ///< Stdin.
  SignalWatch* signals = nullptr;  ///< Ctrl-C and its like; none: they do what they do anyway.
  bool is_output_told = false;     ///< Somebody was told that `out` cannot be written.
  Clock* clock = &system_clock();
  IdSource* ids = &random_ids();
};

}  // namespace perdure::cli
