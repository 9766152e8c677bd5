// The file of a bundle: records behind each other, each with a sum over itself and all before it.
// So a record that was changed, left out, put elsewhere or cut off is found where it stands, and
// the last sum is over everything.

#pragma once

#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

#include "files/part_file.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/sha256.hpp"

namespace perdure::bundle {

enum class RecordKind : std::uint64_t {
  blob = 1,   ///< Its bytes. Stands before the slice that names it first.
  slice = 2,  ///< Facts (fact_codec.hpp).
  end = 3,    ///< How many sessions, facts and blobs there were. Nothing follows.
};

struct Record {
  RecordKind kind = RecordKind::end;
  std::string payload{};
};

class RecordWriter {
 public:
  /// `file` is empty, and must outlive this.
  explicit RecordWriter(const sqlite::PartFile& file) : file_(file) {}

  /// Before all else.
  [[nodiscard]] Result<void> begin();
  [[nodiscard]] Result<void> write(RecordKind kind, std::string_view payload);

  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] const Digest& digest() const { return digest_; }

 private:
  Result<void> append(std::string_view bytes);

  const sqlite::PartFile& file_;
  std::uint64_t bytes_ = 0;
  Digest digest_{};
};

class RecordReader {
 public:
  /// Fails: `not_found`; `invalid_argument` for a file that is no bundle; `unsupported` for one of a
  /// newer format; `unavailable`.
  [[nodiscard]] static Result<RecordReader> open(const std::string& path);

  /// Empty behind the last one.
  /// Fails: `corrupted` for a file that is torn or changed.
  [[nodiscard]] Result<std::optional<Record>> next();

  [[nodiscard]] std::uint64_t position() const { return position_; }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// Over all records so far.
  [[nodiscard]] const Digest& digest() const { return digest_; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  RecordReader(std::string path, std::ifstream file, std::uint64_t size)
      : path_(std::move(path)), file_(std::move(file)), size_(size) {}

  Result<void> read_opening();
  Result<std::string> read(std::uint64_t bytes);

  std::string path_;
  std::ifstream file_;
  std::uint64_t size_;
  std::uint64_t position_ = 0;
  Digest digest_{};
  bool is_ended_ = false;
};

/// Says of a bundle that it is torn or changed, and what to do.
[[nodiscard]] std::unexpected<Error> damaged_bundle(const std::string& path, std::uint64_t position,
                                                    std::string_view what);

}  // namespace perdure::bundle
