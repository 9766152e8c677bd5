// What most batches have nothing of: a branch, blobs, calls, an annotation, messages, children.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/core/id_source.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/commit.hpp"
#include "postgres/params.hpp"

namespace perdure::postgres {

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

}  // namespace perdure::postgres
