// One batch, made ready to be sent: by itself, or in one statement with others.
//
// Everything that can be computed without the server is, by the caller's own thread: hashes of bodies,
// totals, and what the seal is the hash of, except for the commit's time, which is the server's.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/core/id.hpp"
#include "perdure/core/id_source.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/commit.hpp"
#include "perdure/store/entry.hpp"
#include "perdure/store/ownership.hpp"
#include "postgres/commission.hpp"
#include "postgres/params.hpp"

namespace perdure::postgres {

/// Points into the lease and the batch it was made of, which must outlive it.
class BatchForm final : public Commission {
 public:
  /// `now`: the commit's time, where it is not the server's clock that gives it.
  BatchForm(const Lease& lease, const Batch& batch, std::optional<Timestamp> now, IdSource& ids);

  [[nodiscard]] const SessionId& session() const override { return lease_.session; }
  [[nodiscard]] std::size_t bytes() const override { return bytes_; }
  [[nodiscard]] Prepared alone() const override;
  /// Both only add entries and name positions, and neither has a time of its own, or the same.
  [[nodiscard]] bool goes_with(const Commission& other) const override;
  [[nodiscard]] Prepared together(std::span<const Commission* const> all) const override;

 private:
  /// By columns, of one or several batches.
  struct Entries {
    std::vector<std::string_view> channels{};
    std::vector<std::string_view> kinds{};
    std::vector<std::optional<std::int64_t>> numbers{};
    std::string hashes{};
    std::vector<std::optional<std::string_view>> texts{};
    std::vector<std::optional<BytesView>> bytes{};

    void reserve(std::size_t count);
    void append(const Entries& others);
    void add_to(Params& params) const;
  };

  /// Than entries, and a position that it names.
  [[nodiscard]] bool has_more() const;
  [[nodiscard]] bool is_plain() const;
  void add(const NewEntry& entry);
  void add_blobs_to(Params& params) const;
  /// Status, annotation, messages, children.
  void add_rest_to(Params& params) const;

  const Lease& lease_;
  const Batch& batch_;
  const std::optional<Timestamp> now_;

  Entries entries_;
  std::vector<Digest> blobs_;
  std::vector<std::int64_t> blob_sizes_;
  Tally total_;
  std::string seal_;  ///< In hex, with a `t` for each time that is the commit's.

  std::optional<std::string> tags_;
  std::vector<std::string_view> consumed_;
  std::optional<std::string> children_;
  std::size_t bytes_ = 0;
};

}  // namespace perdure::postgres
