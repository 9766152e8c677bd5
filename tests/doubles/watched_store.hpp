// A store whose commits a test watches, or answers itself. All else is the store behind it.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "perdure/core/time.hpp"
#include "perdure/store/store.hpp"
#include "store/api/lookup.hpp"

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
  /// With roles of its own; see with_inbox, with_transfer.
  WatchedStore(Store& behind, const StoreRoles& roles) : Store(roles), behind_(behind) {}
  [[nodiscard]] static StoreRoles with_inbox(Store& store, Inbox& inbox) {
    return with(store, inbox, store.transfer());
  }
  [[nodiscard]] static StoreRoles with_transfer(Store& store, Transfer& transfer) {
    return with(store, store.inbox(), transfer);
  }

 private:
  static StoreRoles with(Store& store, Inbox& inbox, Transfer& transfer) {
    return {.sessions = store.sessions(),
            .ownership = store.ownership(),
            .log = store.log(),
            .ledger = store.ledger(),
            .inbox = inbox,
            .blobs = store.blobs(),
            .upkeep = store.upkeep(),
            .lookup = store.lookup(),
            .transfer = transfer};
  }

  Store& behind_;
  Commit answer_;
};

}  // namespace perdure
