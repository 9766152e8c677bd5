// A file has little that can be set wrong: how it is synced, and whether its pages have sums.

#include "sqlite/doctor.hpp"

#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/store/doctor.hpp"
#include "perdure/store/upkeep.hpp"
#include "sqlite/connection.hpp"
#include "sqlite/page_sums.hpp"
#include "sqlite/roles.hpp"

namespace perdure::sqlite {
namespace {

Remark look_at_syncs(Durability durability) {
  if (durability == Durability::full) {
    return {.gravity = Gravity::fine,
            .topic = "disk",
            .what = "a commit is on disk before it is acknowledged",
            .advice = {}};
  }
  return {.gravity = Gravity::danger,
          .topic = "disk",
          .what = "opened with Durability::process: a machine that dies takes commits with it",
          .advice = "open it with Durability::full"};
}

Remark look_at_sums(bool has_sums) {
  if (has_sums) {
    return {.gravity = Gravity::fine,
            .topic = "sums",
            .what = "every page has a sum, so a check finds any changed byte",
            .advice = {}};
  }
  return {.gravity = Gravity::warning,
          .topic = "sums",
          .what = "the file is from before pages had sums: a check does not see all damage",
          .advice = "copy it into a new store"};
}

}  // namespace

Result<std::vector<Remark>> examine(Access access, const StoreInfo& info) {
  return access.readers.read([&](Connection& db) -> Result<std::vector<Remark>> {
    return std::vector{look_at_syncs(info.durability),
                       look_at_sums(db.reserved_bytes() == sum_bytes)};
  });
}

}  // namespace perdure::sqlite
