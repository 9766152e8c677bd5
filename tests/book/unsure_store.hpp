// A store that now and then does not know whether a commit happened.

#pragma once

#include <cstdint>

#include "perdure/core/error.hpp"
#include "perdure/store/store.hpp"

namespace perdure {

enum class Fate : std::uint8_t {
  known,
  happened,      ///< It is committed, and the answer says that nobody knows.
  not_happened,  ///< It is not, and the answer says the same.
};

/// All but commits goes to the store behind it, which must outlive this.
class UnsureStore final : public Store {
 public:
  explicit UnsureStore(Store& behind) : behind_(behind) {}

  /// From now on, for so many commits.
  void be_unsure(Fate fate, int commits) {
    fate_ = fate;
    left_ = commits;
  }

  [[nodiscard]] Result<Receipt> commit(const Lease& lease, const Batch& batch) final {
    if (left_ == 0) return behind_.commit(lease, batch);
    --left_;
    if (fate_ == Fate::happened) {
      if (auto receipt = behind_.commit(lease, batch); !receipt) return receipt;
    }
    return fail(ErrorCode::commit_unknown, "nobody knows");
  }
  [[nodiscard]] Sessions& sessions() final { return behind_.sessions(); }
  [[nodiscard]] Ownership& ownership() final { return behind_.ownership(); }
  [[nodiscard]] Log& log() final { return behind_.log(); }
  [[nodiscard]] Ledger& ledger() final { return behind_.ledger(); }
  [[nodiscard]] Inbox& inbox() final { return behind_.inbox(); }
  [[nodiscard]] Blobs& blobs() final { return behind_.blobs(); }
  [[nodiscard]] Changes& changes() final { return behind_.changes(); }
  [[nodiscard]] Retention& retention() final { return behind_.retention(); }
  [[nodiscard]] Upkeep& upkeep() final { return behind_.upkeep(); }

 private:
  Store& behind_;
  Fate fate_ = Fate::known;
  int left_ = 0;
};

}  // namespace perdure
