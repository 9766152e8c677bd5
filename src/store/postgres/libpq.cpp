// One table for the process.

#include "postgres/libpq.hpp"

#include "perdure/core/error.hpp"
#include "perdure/core/shared_library.hpp"

namespace perdure::postgres {
namespace {

constinit LoadedTable<Libpq> libpq_table;

}  // namespace

Result<void> load_libpq() { return libpq_table.load(); }

const Libpq& pq() { return libpq_table.get(); }

}  // namespace perdure::postgres
