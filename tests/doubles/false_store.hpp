// A store whose facts are changed on their way, in or out; all else is the store behind it.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "doubles/watched_store.hpp"
#include "perdure/store/store.hpp"
#include "store/api/transfer.hpp"

namespace perdure {

class FalseStore final : public WatchedStore, private Transfer {
 public:
  using Change = std::function<void(Fact&)>;

  /// `behind` must outlive this.
  explicit FalseStore(Store& behind)
      : WatchedStore(behind, with_transfer(behind, *this)), behind_(behind.transfer()) {}

  void on_read(Change change) { read_ = std::move(change); }
  void leave_out(std::function<bool(const Fact&)> which) { left_out_ = std::move(which); }
  void fail_to_release() { fails_to_release_ = true; }
  /// Called before sessions are marked as moved.
  void before_mark(std::function<void()> what) { before_mark_ = std::move(what); }
  void on_take(Change change) { take_ = std::move(change); }
  /// Called before the store is synced. It says nothing of losses then.
  void on_sync(std::function<void()> what) { sync_ = std::move(what); }

  [[nodiscard]] Result<void> sync() override {
    if (sync_) sync_();
    return WatchedStore::sync();
  }
  [[nodiscard]] Result<std::string> loss_token() override {
    return sync_ ? Result<std::string>() : WatchedStore::loss_token();
  }

 private:
  Result<FactSlice> read(const FactSource& source, const FactCursor& from) override {
    auto slice = behind_.read(source, from);
    if (slice && left_out_) std::erase_if(slice->facts, left_out_);
    if (slice && read_) {
      for (Fact& fact : slice->facts) read_(fact);
    }
    return slice;
  }
  Result<void> take(const Arrival& arrival, const FactSlice& slice) override {
    if (fails_to_release_ && slice.from.is_end()) {
      return fail(ErrorCode::unavailable, "the connection is lost");
    }
    FactSlice changed = slice;
    if (take_) {
      for (Fact& fact : changed.facts) take_(fact);
    }
    return behind_.take(arrival, changed);
  }
  Result<void> discard(const Arrival& arrival) override { return behind_.discard(arrival); }
  Result<void> mark_moved(const Destination& to, std::uint64_t attempt,
                          const std::vector<SessionVersion>& sessions) override {
    if (before_mark_) before_mark_();
    return behind_.mark_moved(to, attempt, sessions);
  }

  Transfer& behind_;
  Change read_;
  std::function<bool(const Fact&)> left_out_;
  Change take_;
  std::function<void()> before_mark_;
  std::function<void()> sync_;
  bool fails_to_release_ = false;
};

}  // namespace perdure
