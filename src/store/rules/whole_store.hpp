// A store that is each of its roles itself: a backend declares their methods once, in one class.

#pragma once

#include "perdure/store/store.hpp"
#include "store/api/lookup.hpp"
#include "store/api/transfer.hpp"

namespace perdure::rules {

class WholeStore : public Store,
                   protected Sessions,
                   protected Ownership,
                   protected Log,
                   protected Ledger,
                   protected Inbox,
                   protected Blobs,
                   protected Upkeep,
                   protected Lookup,
                   protected Transfer {
 protected:
  WholeStore()
      : Store({.sessions = *this,
               .ownership = *this,
               .log = *this,
               .ledger = *this,
               .inbox = *this,
               .blobs = *this,
               .upkeep = *this,
               .lookup = *this,
               .transfer = *this}) {}
};

}  // namespace perdure::rules
