// A file for what goes through a pipe and has to be read more than once, or must be known to be whole
// before anybody gets a byte of it.

#pragma once

#include <iosfwd>
#include <string>
#include <utility>

#include "perdure/core/error.hpp"
#include "world.hpp"

namespace perdure::cli {

/// Nobody else may read it, and it goes with this.
class PassingFile {
 public:
  /// A place in $TMPDIR, or /tmp; nothing is there yet.
  /// Fails: `unavailable`.
  [[nodiscard]] static Result<PassingFile> make(const World& world);
  ~PassingFile();
  PassingFile(PassingFile&& other) noexcept : folder_(std::exchange(other.folder_, {})) {}
  PassingFile& operator=(PassingFile&&) = delete;
  PassingFile(const PassingFile&) = delete;
  PassingFile& operator=(const PassingFile&) = delete;

  [[nodiscard]] std::string path() const { return folder_ + "/passing"; }

  /// All that comes. Fails: `unavailable`.
  [[nodiscard]] Result<void> fill(std::istream& from) const;
  /// All that is there. Fails: `unavailable` if `to` did not take all of it.
  [[nodiscard]] Result<void> pour(std::ostream& to) const;

 private:
  explicit PassingFile(std::string folder) : folder_(std::move(folder)) {}

  std::string folder_;
};

}  // namespace perdure::cli
