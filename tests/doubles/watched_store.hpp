// A store whose commits a test watches, or answers itself. All else is the store behind it.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "perdure/core/time.hpp"
#include "perdure/store/store.hpp"

namespace perdure {

class WatchedStore : public Store {
 public:
  using Commit = std::function<Result<Receipt>(const Lease&, const Batch&)>;

  /// `behind` must outlive this.
  explicit WatchedStore(Store& behind) : Store(roles_of(behind)), behind_(behind) {}

  /// Called in place of the commit; it may ask the store behind. Empty: nobody watches.
  void on_commit(Commit answer) { answer_ = std::move(answer); }

  [[nodiscard]] Result<Receipt> commit(const Lease& lease, const Batch& batch) override {
    return answer_ ? answer_(lease, batch) : behind_.commit(lease, batch);
  }
  [[nodiscard]] Result<Created> create(const NewSession& session, const WorkerId& worker,
                                       const Batch& first) override {
    return behind_.create(session, worker, first);
  }
  [[nodiscard]] Result<std::uint64_t> wait_for_change(std::uint64_t since,
                                                      Duration timeout) override {
    return behind_.wait_for_change(since, timeout);
  }
  [[nodiscard]] StoreInfo info() const override { return behind_.info(); }
  [[nodiscard]] Result<std::vector<Remark>> doctor() override { return behind_.doctor(); }
  [[nodiscard]] Result<void> sync() override { return behind_.sync(); }
  [[nodiscard]] Result<std::string> loss_token() override { return behind_.loss_token(); }

 protected:
  /// With a transfer of its own.
  WatchedStore(Store& behind, Transfer& transfer)
      : Store({.sessions = behind.sessions(),
               .ownership = behind.ownership(),
               .log = behind.log(),
               .ledger = behind.ledger(),
               .inbox = behind.inbox(),
               .blobs = behind.blobs(),
               .upkeep = behind.upkeep(),
               .transfer = transfer}),
        behind_(behind) {}

 private:
  Store& behind_;
  Commit answer_;
};

}  // namespace perdure
