// What a committer is asked to commit: one repeatable statement that returns one value.

#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "perdure/core/id.hpp"
#include "postgres/client/params.hpp"

namespace perdure::postgres {

/// A statement's last parameter, a boolean, is the committer's: whether its transaction may reach the
/// disk later. `params` are those before it; they may point into the commission.
struct Prepared {
  std::string_view sql;
  Params params;
};

/// All commissions of one committer are of the same class.
class Commission {
 public:
  Commission() = default;
  virtual ~Commission() = default;
  Commission(const Commission&) = delete;
  Commission& operator=(const Commission&) = delete;

  /// Of those in one transaction, who comes first by this is first.
  [[nodiscard]] virtual const SessionId& session() const = 0;
  /// About as many as it sends.
  [[nodiscard]] virtual std::size_t bytes() const = 0;
  /// `is_repeated`: an earlier attempt may have happened, so the server looks for it first.
  [[nodiscard]] virtual Prepared alone(bool is_repeated) const = 0;

  /// Whether both may be in one statement. If this one goes with others, they go with each other.
  [[nodiscard]] virtual bool goes_with(const Commission& other) const = 0;
  /// One statement for all of them; each has one part of its value, in their order, all equally long. It
  /// raises PD010 if some of them have to be sent alone, and names them by their places.
  [[nodiscard]] virtual Prepared together(std::span<const Commission* const> all) const = 0;
};

}  // namespace perdure::postgres
