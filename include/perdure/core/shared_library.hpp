// A library that is loaded when it is first needed, and not with the program.
//
// libpq and libcurl bring some thirty others with them. To load those takes longer than most commands
// take for all else, and a session that is kept in a file needs none of them.

#pragma once

#include <optional>
#include <string>

#include "perdure/core/error.hpp"

namespace perdure {

/// Stays loaded until the process ends. Thread safety: one thread at a time.
class SharedLibrary {
 public:
  /// `file` is the library's name with its version: "libpq.so.5". `package` is what to install.
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

}  // namespace perdure
