// What one group of commits is sent as: one statement for all that go together, and one for each other.

#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/store/commit.hpp"
#include "postgres/attempts.hpp"
#include "postgres/commission.hpp"
#include "postgres/connection.hpp"
#include "postgres/error.hpp"
#include "postgres/turn.hpp"

namespace perdure::postgres {

/// One caller's commit, on that caller's stack until it is answered.
struct CommitRequest {
  const Commission& what;
  Sync sync;
  Attempts attempts;
  std::optional<Result<std::string>> result{};
  Turn turn{};
};

/// `group` must outlive it.
class Shipment {
 public:
  /// `is_repeated`: of one that was sent before.
  explicit Shipment(std::span<CommitRequest* const> group, bool is_repeated = false);

  /// All members allow that the transaction reaches the disk later.
  [[nodiscard]] bool is_later() const { return is_later_; }
  [[nodiscard]] std::vector<Statement> statements() const;
  /// To whom this no to a statement belongs, by their places in the group, rising.
  [[nodiscard]] std::vector<std::size_t> refused(std::size_t statement, const PgError& error) const;
  /// Gives everybody their result: there is one answer for each statement, none of them a PgError.
  void deliver(std::vector<Answer> answers) const;

 private:
  struct Part {
    Prepared sent;
    std::vector<std::size_t> members{};  ///< Places in the group.
  };

  void add(std::vector<std::size_t> members, bool is_repeated);

  std::span<CommitRequest* const> group_;
  bool is_later_;
  std::vector<Part> parts_;
};

}  // namespace perdure::postgres
