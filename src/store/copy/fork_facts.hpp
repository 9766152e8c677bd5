// The facts of a session as those of a fork of it, whose parent is not there any more.

#pragma once

#include <map>
#include <set>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/bundle.hpp"
#include "store/api/transfer.hpp"

namespace perdure::copy {

class ForkFacts {
 public:
  /// `source` are the owners of the session's family.
  /// Fails: as `Transfer::read`; `corrupted` if the session has no line.
  [[nodiscard]] static Result<ForkFacts> of(Transfer& transfer, const FactSource& source,
                                            const SessionId& session, const CopyOptions& options);

  /// Those of a slice that the fork has, as it has them.
  [[nodiscard]] FactSlice apply(FactSlice slice) const;

 private:
  void add(const Fact& fact, FactSlice& slice) const;

  SessionFact fork_;
  SegmentFact segment_;
  std::map<SegmentId, Position>
      line_;                      ///< Segments of the active line, each with its last position.
  std::set<OwnerNumber> owners_;  ///< Of these segments.
};

}  // namespace perdure::copy
