// PostgreSQL's own programs (initdb, postgres, pg_basebackup…), run as somebody who may run them:
// the server refuses root, so root's tests run them as the user `postgres`.

#pragma once

#include <chrono>
#include <string>
#include <sys/types.h>
#include <vector>

namespace perdure {

/// Starts one of PostgreSQL's programs, or another by its whole path, unprivileged; what it says goes
/// to the file `log`. If the
/// thread that calls this ends, however it does, the program is told to stop at once (SIGQUIT).
/// Throws if it cannot be started.
[[nodiscard]] pid_t start_postgres_program(const std::string& name,
                                           const std::vector<std::string>& arguments,
                                           const std::string& log);
/// The same, and waits for its end. Throws, with what it said, if that is not a good one.
void run_postgres_program(const std::string& name, const std::vector<std::string>& arguments,
                          const std::string& log);
/// Gives a folder to whoever those programs run as.
void give_to_postgres(const std::string& folder);

/// Waits for the end of a child process of ours, and takes note of it; false if it lives on.
[[nodiscard]] bool await_end(pid_t child, std::chrono::milliseconds timeout);

/// What a file holds; empty if there is none.
[[nodiscard]] std::string text_of_file(const std::string& path);

}  // namespace perdure
