// A store that now and then does not know whether a commit happened.

#pragma once

#include <cstdint>

#include "doubles/watched_store.hpp"
#include "perdure/core/error.hpp"
#include "perdure/store/store.hpp"

namespace perdure {

enum class Fate : std::uint8_t {
  known,
  happened,      ///< It is committed, and the answer says that nobody knows.
  not_happened,  ///< It is not, and the answer says the same.
};

class UnsureStore final : public WatchedStore {
 public:
  explicit UnsureStore(Store& behind) : WatchedStore(behind) {
    on_commit([this, &behind](const Lease& lease, const Batch& batch) -> Result<Receipt> {
      if (left_ == 0) return behind.commit(lease, batch);
      --left_;
      if (fate_ == Fate::happened) {
        if (auto receipt = behind.commit(lease, batch); !receipt) return receipt;
      }
      return fail(ErrorCode::commit_unknown, "nobody knows");
    });
  }

  /// From now on, for so many commits.
  void be_unsure(Fate fate, int commits) {
    fate_ = fate;
    left_ = commits;
  }

 private:
  Fate fate_ = Fate::known;
  int left_ = 0;
};

}  // namespace perdure
