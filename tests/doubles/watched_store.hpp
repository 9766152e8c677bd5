// A store whose commits a test watches, or answers itself. All else is the store behind it.

#pragma once

#include <functional>
#include <utility>

#include "perdure/store/store.hpp"

namespace perdure {

class WatchedStore : public Store {
 public:
  using Commit = std::function<Result<Receipt>(const Lease&, const Batch&)>;

  /// `behind` must outlive this.
  explicit WatchedStore(Store& behind) : behind_(behind) {}

  /// Called in place of the commit; it may ask the store behind. Empty: nobody watches.
  void on_commit(Commit answer) { answer_ = std::move(answer); }

  [[nodiscard]] Result<Receipt> commit(const Lease& lease, const Batch& batch) override {
    return answer_ ? answer_(lease, batch) : behind_.commit(lease, batch);
  }
  [[nodiscard]] Result<Created> create(const NewSession& session, const WorkerId& worker,
                                       const Batch& first) override {
    return behind_.create(session, worker, first);
  }
  [[nodiscard]] Sessions& sessions() override { return behind_.sessions(); }
  [[nodiscard]] Ownership& ownership() override { return behind_.ownership(); }
  [[nodiscard]] Log& log() override { return behind_.log(); }
  [[nodiscard]] Ledger& ledger() override { return behind_.ledger(); }
  [[nodiscard]] Inbox& inbox() override { return behind_.inbox(); }
  [[nodiscard]] Blobs& blobs() override { return behind_.blobs(); }
  [[nodiscard]] Changes& changes() override { return behind_.changes(); }
  [[nodiscard]] Retention& retention() override { return behind_.retention(); }
  [[nodiscard]] Upkeep& upkeep() override { return behind_.upkeep(); }
  [[nodiscard]] Transfer& transfer() override { return behind_.transfer(); }

 private:
  Store& behind_;
  Commit answer_;
};

}  // namespace perdure
