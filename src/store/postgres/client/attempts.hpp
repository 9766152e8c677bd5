// One operation and its repetitions: when to try again, and what to say in the end.
//
// Every write of this backend may be repeated: it carries an id by which the server knows what it
// did already. So a lost reply is no news to the caller, as long as there is time. Only when that is
// over does it matter whether any attempt may have happened.

#pragma once

#include <optional>

#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "postgres/client/deadline.hpp"
#include "postgres/client/error.hpp"

namespace perdure::postgres {

class Attempts {
 public:
  explicit Attempts(Duration patience) : deadline_(patience) {}

  [[nodiscard]] const Deadline& deadline() const { return deadline_; }

  /// An attempt failed. Nothing: it is time for another one, after a short pause that was taken
  /// here. Otherwise what the caller is to be told: `commit_unknown` if any attempt may have
  /// happened and none was answered.
  [[nodiscard]] std::optional<Error> after(const PgError& error);

  /// An attempt that somebody else made, for several operations at once.
  void note(const PgError& error) { may_have_happened_ |= error.may_have_happened(); }
  /// Any of them, although it failed.
  [[nodiscard]] bool may_have_happened() const { return may_have_happened_; }
  /// What says most about why it failed: a last try may just have run out of time.
  [[nodiscard]] const PgError& reason(const PgError& last) const {
    return last.sqlstate().empty() && said_ ? *said_ : last;
  }
  /// No more of it, whatever time is left.
  [[nodiscard]] Error give_up(const PgError& error) const;

 private:
  void pause();

  Deadline deadline_;
  std::optional<PgError> said_;  ///< Last, by a server; or else about it.
  int failed_ = 0;
  bool may_have_happened_ = false;
};

}  // namespace perdure::postgres
