// A PostgreSQL server of a test's own: a cluster in a temporary folder, on a free port of the
// loopback and a socket in that folder, as it would be in earnest (fsync is on). Making one takes
// a second or two: who only needs a store takes a schema of the shared one (postgres_cluster.hpp).

#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "doubles/temp_folder.hpp"

namespace perdure {

class PostgresServer {
 public:
  /// Settings as they are in postgresql.conf: "wal_level=logical". The last one of a name counts.
  using Settings = std::vector<std::string>;

  /// Makes a cluster. Who wants another content (a base backup) fills `data_folder()` themselves
  /// and says so with `bare`. Does not start it.
  enum class Content { fresh, bare };
  explicit PostgresServer(
      Settings settings = {}, Content content = Content::fresh,
      const std::filesystem::path& within = std::filesystem::temp_directory_path());
  /// Stops it at once.
  ~PostgresServer();
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  /// Returns when it takes connections. Throws, with its log, if it does not.
  void start();
  /// fast: connections are ended, all is written. immediate: like a crash of the server. killed:
  /// SIGKILL to it and all its processes, like a crash of the machine (but for the kernel's cache).
  enum class Stop { fast, immediate, killed };
  void stop(Stop how);
  [[nodiscard]] bool is_running() const { return process_.has_value(); }

  [[nodiscard]] int port() const { return port_; }
  /// Of the server's main process while it runs.
  [[nodiscard]] pid_t process() const { return process_.value_or(-1); }
  /// postgres://user@127.0.0.1:port/database, without any option.
  [[nodiscard]] std::string address() const;
  /// Of the server and its socket; its data is in data_folder().
  [[nodiscard]] std::string folder() const { return folder_.path().string(); }
  [[nodiscard]] std::string data_folder() const { return folder_.file("data"); }
  /// What it wrote to its log.
  [[nodiscard]] std::string log() const;

 private:
  [[nodiscard]] std::string log_file() const { return folder_.file("server.log"); }
  bool come_up();

  TempFolder folder_;
  Settings settings_;
  int port_;
  std::optional<pid_t> process_;
};

}  // namespace perdure
