// A store that is each of its roles itself: a backend declares their methods once, in one class.

#pragma once

#include "perdure/store/store.hpp"

namespace perdure::rules {

class WholeStore : public Store,
                   protected Sessions,
                   protected Ownership,
                   protected Log,
                   protected Ledger,
                   protected Inbox,
                   protected Blobs,
                   protected Upkeep {
 protected:
  /// Whoever derives from this owns `transfer`.
  explicit WholeStore(Transfer& transfer)
      : Store({.sessions = *this,
               .ownership = *this,
               .log = *this,
               .ledger = *this,
               .inbox = *this,
               .blobs = *this,
               .upkeep = *this,
               .transfer = transfer}) {}
};

}  // namespace perdure::rules
