// A library that is loaded when it is first needed, and not with the program.
//
// libpq and libcurl bring some thirty others with them. To load those took two fifths of a short
// command, and a session that is kept in a file needs none of them.

#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "perdure/core/error.hpp"

namespace perdure {

/// Stays loaded until the process ends. Thread safety: one thread at a time.
class SharedLibrary {
 public:
  /// `file` is the library's name with its version: "libpq.so.5". `package` is what brings it.
  SharedLibrary(std::string file, std::string package);

  /// The library's function of that name; null if there is none, which check() then tells.
  template <class Function>
  [[nodiscard]] Function* find(const char* name) {
    return reinterpret_cast<Function*>(address_of(name));
  }

  /// Fails: `unavailable` if the library is not there, or a function that was looked for.
  [[nodiscard]] Result<void> check() const;

 private:
  void* address_of(const char* name);
  void fail_with(const std::string& why);

  std::string file_;
  std::string package_;
  void* handle_ = nullptr;
  std::optional<Error> failed_;
};

/// A table of a library's functions: a type that is made by looking them up, and has a check() of
/// its own. For a static object. Thread safety: full.
template <class Table>
class LoadedTable {
 public:
  /// Does nothing if it is loaded. Fails: as Table::check; the next call tries again.
  [[nodiscard]] Result<void> load() {
    const std::lock_guard lock(mutex_);
    if (table_ != nullptr) return {};
    auto fresh = std::make_unique<const Table>();
    if (auto usable = fresh->check(); !usable) return usable;
    table_ = fresh.release();  // Never freed: other threads may use it while the process ends.
    return {};
  }

  /// After load() succeeded once.
  [[nodiscard]] const Table& get() const { return *table_; }

 private:
  std::mutex mutex_;
  std::atomic<const Table*> table_ = nullptr;
};

}  // namespace perdure
