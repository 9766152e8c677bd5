// Facts out of a store in PostgreSQL and into one (transfer.hpp).

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/core/sha256.hpp"
#include "postgres/client/connection.hpp"
#include "postgres/client/params.hpp"
#include "store/api/transfer.hpp"

namespace perdure::postgres {

[[nodiscard]] FactSlice read_facts(Connection& db, const FactSource& source,
                                   const FactCursor& from);

/// A slice as perdure.take takes it, from the facts on. The slice must outlive this.
class SentFacts {
 public:
  explicit SentFacts(const FactSlice& slice);
  void add_to(Params& params) const;

 private:
  std::int64_t kind_ = 0;
  std::string facts_;
  std::vector<std::optional<std::string_view>> bodies_;
  std::vector<std::optional<BytesView>> bytes_;
  std::vector<Digest> blobs_;
  std::vector<std::int64_t> blob_sizes_;
};

}  // namespace perdure::postgres
