// Which backends the contract holds for, and a place for a store of each. A backend joins by one
// line in every_backend(); every suite that takes its backends from here then has it. The suites of
// the store itself (tests/contract, property, copy) also have each form that a server can take:
// every_form().
//
// What is about files alone stays with the backends that have one, by file_backends(): backups
// and files that are no store (tests/contract), and the suites that make, damage or count a file
// themselves: tests/counted, damage, faults, opening, power, retention, upgrade, views, the lost WAL of
// tests/crash.

#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "doubles/postgres_cluster.hpp"
#include "doubles/temp_folder.hpp"

namespace perdure {

/// What a store lives in.
enum class Home : std::uint8_t {
  object,  ///< Nothing survives the store object, and no two objects share a store.
  file,
  schema,  ///< Of the PostgreSQL server that the tests share.
};

struct Backend {
  std::string name;
  Home home;
  std::string options{};  ///< Of a server's location.

  [[nodiscard]] bool survives() const { return home != Home::object; }
};

/// Of something that is repeated: each costs a server ten times what it costs a file; and there a
/// form that is not the usual one gets a quarter.
[[nodiscard]] inline std::size_t runs_for(const Backend& backend, std::size_t runs) {
  if (backend.home != Home::schema) return runs;
  return backend.options.empty() ? (runs + 9) / 10 : (runs + 39) / 40;
}

inline void PrintTo(const Backend& backend, std::ostream* out) { *out << backend.name; }

[[nodiscard]] inline std::vector<Backend> every_backend() {
  return {
      {"memory", Home::object},
      {"sqlite", Home::file},
      {"postgres", Home::schema},
  };
}

/// Also with its large tables in partitions, where nobody is woken by the server.
[[nodiscard]] inline std::vector<Backend> every_form() {
  auto forms = every_backend();
  forms.push_back({"partitioned", Home::schema, "partitions=4&notify=off"});
  return forms;
}

/// Those whose stores outlive the store object and can be opened more than once.
[[nodiscard]] inline std::vector<Backend> surviving(std::vector<Backend> backends) {
  std::erase_if(backends, [](const Backend& backend) { return !backend.survives(); });
  return backends;
}
[[nodiscard]] inline std::vector<Backend> surviving_backends() {
  return surviving(every_backend());
}

[[nodiscard]] inline std::vector<Backend> file_backends() {
  auto backends = every_backend();
  std::erase_if(backends, [](const Backend& backend) { return backend.home != Home::file; });
  return backends;
}

[[nodiscard]] inline std::vector<Backend> fileless_backends() {
  auto backends = every_form();
  std::erase_if(backends, [](const Backend& backend) { return backend.home == Home::file; });
  return backends;
}

/// A place for one store, empty at first. It goes with this object: close the store before.
class StorePlace {
 public:
  /// Files are made in a folder of that folder.
  explicit StorePlace(const Backend& backend,
                      const std::filesystem::path& within = std::filesystem::temp_directory_path())
      : home_(backend.home), options_(backend.options), folder_(within) {
    if (home_ == Home::schema) schema_.emplace();
  }

  [[nodiscard]] std::string location() const {
    if (home_ == Home::object) return "memory:";
    return home_ == Home::file ? "sqlite:" + file() : schema_->location(options_);
  }
  /// Of a backend that has one.
  [[nodiscard]] std::string file() const { return folder_.file("store.db"); }
  /// Of a backend that has one.
  [[nodiscard]] const PostgresSchema& schema() const { return schema_.value(); }
  /// Returns when nothing is under way any more that a killed process began.
  void settle() const {
    if (schema_) schema_->wait_until_left();
  }
  [[nodiscard]] bool is_empty() const {
    return std::filesystem::is_empty(folder_.path()) && (!schema_ || !schema_->exists());
  }

 private:
  Home home_;
  std::string options_;
  TempFolder folder_;
  std::optional<PostgresSchema> schema_;
};

}  // namespace perdure
