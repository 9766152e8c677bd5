// A commit as the parameters of functions in the database.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/ownership.hpp"
#include "perdure/store/store.hpp"
#include "postgres/client/commission.hpp"
#include "postgres/client/params.hpp"

namespace perdure::postgres {

// What most batches have nothing of: a branch, blobs, calls, an annotation, messages, children.

/// Points into the batch, which must outlive it.
class BatchRest {
 public:
  BatchRest(const Batch& batch, IdSource& ids);

  [[nodiscard]] bool is_empty() const;
  /// About as many as it sends.
  [[nodiscard]] std::size_t bytes() const { return children_ ? children_->size() : 0; }
  /// As perdure.rest has them (sql/commit.sql).
  [[nodiscard]] Params fields() const;

 private:
  const Batch& batch_;
  std::vector<Digest> blobs_{};
  std::vector<std::int64_t> blob_sizes_{};
  std::optional<std::string> tags_{};
  std::vector<std::string_view> consumed_{};
  std::optional<std::string> children_{};
};

// One batch, made ready to be sent: by itself, or in one statement with others.
//
// Everything that can be computed without the server is, by the caller's own thread: hashes of bodies,
// totals, and what the seal is the hash of, except for the commit's time, which is the server's.

/// What makes the session of a batch that is its first.
struct FirstOwner {
  std::string row{};  ///< SessionRow::to_json.
  std::optional<std::int64_t> uptime{};
};

/// Points into the lease and the batch it was made of, which must outlive it.
class BatchForm final : public Commission {
 public:
  /// `now`: the commit's time, where it is not the server's clock that gives it.
  BatchForm(const Lease& lease, const Batch& batch, std::optional<Timestamp> now, IdSource& ids,
            std::optional<FirstOwner> first = {});

  [[nodiscard]] const SessionId& session() const override { return lease_.session; }
  [[nodiscard]] std::size_t bytes() const override { return bytes_; }
  [[nodiscard]] Prepared alone(bool is_repeated) const override;
  /// Both only add entries and name positions, and neither has a time of its own, or the same.
  [[nodiscard]] bool goes_with(const Commission& other) const override;
  [[nodiscard]] Prepared together(std::span<const Commission* const> all) const override;

 private:
  /// Of several batches, by columns.
  class Columns;

  [[nodiscard]] bool is_plain() const;
  [[nodiscard]] std::vector<Params> entries() const;

  const Lease& lease_;
  const Batch& batch_;
  const std::optional<Timestamp> now_;
  const std::optional<FirstOwner> first_;

  const BatchRest rest_;
  std::vector<Digest> hashes_{};  ///< Of the entries' bodies.
  Tally total_;
  std::string seal_{};  ///< In hex, with a `t` for each time that is the commit's.
  std::size_t bytes_ = 0;
};

}  // namespace perdure::postgres
