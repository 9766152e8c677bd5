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
                   protected Changes,
                   protected Retention,
                   protected Upkeep {
 public:
  Sessions& sessions() final { return *this; }
  Ownership& ownership() final { return *this; }
  Log& log() final { return *this; }
  Ledger& ledger() final { return *this; }
  Inbox& inbox() final { return *this; }
  Blobs& blobs() final { return *this; }
  Changes& changes() final { return *this; }
  Retention& retention() final { return *this; }
  Upkeep& upkeep() final { return *this; }
};

}  // namespace perdure::rules
