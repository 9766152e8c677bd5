// A file for what goes through a pipe and has to be read more than once, or must be known to be whole
// before anybody gets a byte of it.

#pragma once

#include <iosfwd>
#include <string>
#include <utility>

#include "context/process_io.hpp"
#include "perdure/core/error.hpp"

namespace perdure::cli {

/// Nobody else may read it, and it goes with this.
class SpooledFile {
 public:
  /// A place in $TMPDIR, or /tmp; nothing is there yet.
  /// Fails: `unavailable`.
  [[nodiscard]] static Result<SpooledFile> make(const ProcessIo& io);
  ~SpooledFile();
  SpooledFile(SpooledFile&& other) noexcept : folder_(std::exchange(other.folder_, {})) {}
  SpooledFile& operator=(SpooledFile&&) = delete;
  SpooledFile(const SpooledFile&) = delete;
  SpooledFile& operator=(const SpooledFile&) = delete;

  [[nodiscard]] std::string path() const { return folder_ + "/passing"; }

  /// All that comes. Fails: `unavailable`.
  [[nodiscard]] Result<void> fill(std::istream& from) const;
  /// All that is there. Fails: `unavailable` if `to` did not take all of it.
  [[nodiscard]] Result<void> pour(std::ostream& to) const;

 private:
  explicit SpooledFile(std::string folder) : folder_(std::move(folder)) {}

  std::string folder_;
};

}  // namespace perdure::cli
