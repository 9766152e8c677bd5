// The facts of a bundle, slice by slice: all that can be said of one without a store.

#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "bundle/bundle_file.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/bundle.hpp"
#include "perdure/store/log.hpp"
#include "store/api/transfer.hpp"

namespace perdure::bundle {

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

}  // namespace perdure::bundle
