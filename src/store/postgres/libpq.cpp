// One table for the process.

#include "postgres/libpq.hpp"

#include <memory>

namespace perdure::postgres {

const Libpq& pq() {
  // Never freed: connections may still be closed while the process ends.
  static const Libpq& loaded = *std::make_unique<Libpq>().release();
  return loaded;
}

}  // namespace perdure::postgres
