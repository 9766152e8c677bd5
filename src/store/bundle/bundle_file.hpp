// The file of a bundle and the facts in it.

#pragma once

#include <cstdint>
#include <fstream>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "files/part_file.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"
#include "store/api/bundle.hpp"
#include "store/api/transfer.hpp"

namespace perdure::bundle {

enum class RecordKind : std::uint64_t {
  blob = 1,   ///< Its bytes. Precedes the first slice that names it.
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
  /// Fails: `not_found`; `invalid_argument` for a file that is not a bundle; `unsupported` for a
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

// Whether facts from a file are such as a store could have given. Sums detect accidental
// changes; a forger computes the sums too. What names a thing, and what would
// run into other sessions' numbers, is checked here; whether a session's facts belong together is
// for the hash chain to say.

/// Fails: `invalid_argument`, `corrupted`.
[[nodiscard]] Result<void> check(const Fact& fact);

// The facts of a bundle, slice by slice: all that can be said of one without a store.

/// Counts a fact.
void note(BundleReport& report, const Fact& fact);

/// What the last record says.
[[nodiscard]] std::string totals(const BundleReport& report, std::uint64_t facts);

/// Reads a bundle from its beginning to its end, and compares all of it with what it should be.
class BundleFacts {
 public:
  /// Is handed each blob, before the slice that names it.
  using TakeBlob = std::function<Result<void>(const std::string& bytes)>;

  /// Fails: as `check_bundle` says.
  [[nodiscard]] static Result<BundleFacts> open(const std::string& path, TakeBlob take_blob = {});

  /// Empty at the end: then all of the file was read, and is what was exported.
  /// Fails: as `check_bundle` says, and as the taker of blobs does.
  [[nodiscard]] Result<std::optional<FactSlice>> next();

  /// Complete at the end.
  [[nodiscard]] const BundleReport& report() const { return report_; }
  [[nodiscard]] std::uint64_t position() const { return records_.position(); }
  [[nodiscard]] std::uint64_t size() const { return records_.size(); }

 private:
  BundleFacts(RecordReader records, TakeBlob take_blob)
      : records_(std::move(records)), take_blob_(std::move(take_blob)) {}

  Result<void> take_blob(const std::string& bytes);
  Result<FactSlice> read_slice(const std::string& payload);
  Result<void> check_named(const Fact& fact) const;
  Result<void> finish(const std::string& payload);

  RecordReader records_;
  TakeBlob take_blob_;
  FactCursor next_;
  std::set<std::pair<Digest, std::uint64_t>> blobs_;
  std::uint64_t facts_ = 0;
  BundleReport report_;
};

// Whether sessions that arrived follow from their own log: by the check of a session that every backend
// shares (rules/session_check.hpp), over facts.

/// Reads what has arrived and is not released yet. The bundle's author may have recomputed every
/// sum: totals, versions, heads and ledger are compared with the entries themselves. False if
/// `go_on` said to stop.
/// Fails: `corrupted`, with the first contradiction.
[[nodiscard]] Result<bool> check_arrival(Store& store, const Arrival& arrival,
                                         const std::function<bool()>& go_on);

}  // namespace perdure::bundle
