// What one commit of a session will hold, while it is put together, and the entries that more than
// one part of the runtime adds to it.
//
// Positions are known before the commit: nobody else writes while we hold the lease, so the entries
// get the numbers that follow. A call can thus refer to its own intent.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/calls.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/records.hpp"
#include "runtime/api/status_entry.hpp"

namespace perdure {
/// A request about to be made, and the most it may cost.
struct NewRequest {
  Request request{};
  std::int64_t reserve_micros = 0;
};

class Draft {
 public:
  /// `next` is the position that the session's next entry gets.
  explicit Draft(Position next) : next_(next) {}

  /// The position that the next entry added will have.
  [[nodiscard]] Position next() const { return next_ + batch.entries.size(); }

  /// Adds an entry and returns the position it will have.
  Position add(NewEntry entry) {
    const Position position = next();
    batch.entries.push_back(std::move(entry));
    return position;
  }

  /// How it leaves the session, by whom and why.
  void stand(StatusChange change, StatusReason because = {}) {
    batch.status = std::move(change);
    reason = std::move(because);
  }

  /// All but id, expected head and entries may be set from outside.
  Batch batch{};
  /// Of its change of status: the commit makes an entry of it.
  StatusReason reason{};
  /// The request that follows, written ahead of it: the commit makes entries of it, if the budget has
  /// room for it after the draft's own changes.
  std::optional<NewRequest> next_request{};

 private:
  Position next_;
};

/// An entry of JSON text that adds to a list, or replaces a value.
[[nodiscard]] inline NewEntry appending(std::string channel, std::string kind, std::string json) {
  return {.channel = std::move(channel),
          .kind = std::move(kind),
          .body = Body::from_text(std::move(json))};
}
[[nodiscard]] inline NewEntry replacing(std::string channel, std::string kind, std::string json) {
  NewEntry entry = appending(std::move(channel), std::move(kind), std::move(json));
  entry.fold = Fold::replace;
  return entry;
}

/// The text as a row takes it: no control characters but those of lines, valid UTF-8, and no more
/// bytes than that. A log has what a tool, a model or a person said as it was; a row has room for
/// less, and a store refuses a commit whose rows are too long or unprintable. A response that was paid
/// for must not be lost for that.
[[nodiscard]] std::string row_text(std::string_view text, std::size_t bytes_max);

/// The same as a name: one line, no space at either end, never empty.
[[nodiscard]] std::string row_name(std::string_view name);

/// Makes all text of a batch that goes into rows fit them.
void fit_rows(Batch& batch);

/// Adds a change of the budget. `budget`: as it is when the draft gets there; the change is applied.
/// Fails: as enter, and then changes nothing.
[[nodiscard]] Result<void> add_budget_change(Draft& draft, Budget& budget, BudgetEntry wanted);

/// What is left of the budget once the draft is committed.
[[nodiscard]] Budget budget_after(const Budget& now, const Draft& draft);

/// Adds the request and what it reserves. `budget`: as it is when the draft gets there.
/// Fails: as enter.
[[nodiscard]] Result<void> add_request(Draft& draft, IdSource& ids, Budget& budget,
                                       NewRequest request);

struct RequestEnd {
  std::string why{};
  /// It was sent, or nobody knows whether it was: what it reserved counts as spent.
  bool may_be_paid = false;
};

/// Adds the end of the request. `budget`: as it is when the draft gets there.
/// Fails: as enter.
[[nodiscard]] Result<void> add_end_of_request(Draft& draft, const Request& request, Budget& budget,
                                              const RequestEnd& end);

}  // namespace perdure
