// PostgreSQL for tests: a server that all tests of a run share, and a schema in it for each store.
//
// Under ctest one server serves the whole run (`perdure_test(… POSTGRES)` asks for it). A program that
// is run by hand and finds none starts one for itself, which ends with it.

#pragma once

#include <memory>
#include <mutex>
#include <string>

extern "C" {
struct pg_conn;
}

namespace perdure {

/// A connection of a superuser, for what no store offers. Throws whenever the server refuses.
class PostgresSql {
 public:
  explicit PostgresSql(const std::string& address);

  /// One or more statements.
  void execute(const std::string& sql);
  /// The first value of the first row, as text; empty if it is null or there is no row.
  [[nodiscard]] std::string one(const std::string& sql);

 private:
  struct Closes {
    void operator()(pg_conn* connection) const;
  };
  std::mutex mutex_;
  std::unique_ptr<pg_conn, Closes> connection_;
};

class PostgresCluster {
 public:
  explicit PostgresCluster(std::string address) : address_(std::move(address)), sql_(address_) {}

  /// postgres://user@127.0.0.1:port/database, without any option.
  [[nodiscard]] const std::string& address() const { return address_; }
  void execute(const std::string& sql) { sql_.execute(sql); }
  [[nodiscard]] std::string one(const std::string& sql) { return sql_.one(sql); }

 private:
  std::string address_;
  PostgresSql sql_;
};

/// The server of this run. Throws if there is none and none can be started.
PostgresCluster& cluster();

/// A schema of one test's own, which a store makes when it opens the location. It goes with this object,
/// and whatever is in it: close the stores first.
class PostgresSchema {
 public:
  PostgresSchema();
  ~PostgresSchema();
  PostgresSchema(const PostgresSchema&) = delete;
  PostgresSchema& operator=(const PostgresSchema&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  /// Whether a store has made it.
  [[nodiscard]] bool exists() const;
  /// Waits until nobody who came by the location is connected: what a killed process has sent is
  /// done by then, or never will be. Throws if somebody stays.
  void wait_until_left() const;
  /// With further options, if any: "pool=1&notify=off".
  [[nodiscard]] std::string location(const std::string& options = {}) const;

 private:
  std::string name_;
};

}  // namespace perdure
