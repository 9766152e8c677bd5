// A file has little that can be set wrong: how it is synced, whether its pages have sums, who may read
// it, and whether there is room for it to grow.

#include "sqlite/opening/doctor.hpp"

#include <cstdint>
#include <fmt/format.h>
#include <string>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/store/store.hpp"
#include "perdure/store/upkeep.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/roles.hpp"
#include "sqlite/engine/summing_vfs.hpp"

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
          .what =
              "the pages have no sums, as in a file that another program made: a check does not "
              "see all damage",
          .advice = "copy it into a new store"};
}

Remark look_at_rights(const std::string& path) {
  struct stat status{};
  const bool is_known = ::stat(path.c_str(), &status) == 0;
  if (is_known && (status.st_mode & (S_IRGRP | S_IROTH)) == 0) {
    return {.gravity = Gravity::fine,
            .topic = "rights",
            .what = "nobody but the file's owner may read what was said",
            .advice = {}};
  }
  const bool is_for_all = (status.st_mode & S_IROTH) != 0;
  return {.gravity = Gravity::warning,
          .topic = "rights",
          .what = !is_known    ? "who may read the file is not known"
                  : is_for_all ? "everybody on this machine may read what was said"
                               : "the file's group may read what was said",
          .advice = fmt::format("unless that is meant: chmod 600 {0} {0}-*", path)};
}

// When it is full, commits fail, and what was committed stays.
Remark look_at_room(const std::string& path) {
  constexpr std::uint64_t mib = 1U << 20U;
  constexpr std::uint64_t enough_mib = 64;
  struct statvfs status{};
  if (::statvfs(path.c_str(), &status) != 0) {
    return {.gravity = Gravity::warning,
            .topic = "space",
            .what = "how much space is free is not known",
            .advice = {}};
  }
  const std::uint64_t free_mib = std::uint64_t{status.f_bavail} * status.f_frsize / mib;
  const bool is_enough = free_mib >= enough_mib;
  return {.gravity = is_enough ? Gravity::fine : Gravity::warning,
          .topic = "space",
          .what = fmt::format("{} MiB are free on the disk that holds the store", free_mib),
          .advice = is_enough ? ""
                              : "free some: without space every commit fails. Nothing that was "
                                "committed is lost"};
}

}  // namespace

Result<std::vector<Remark>> examine(Access access, const StoreInfo& info) {
  return access.readers.read([&](Connection& db) -> Result<std::vector<Remark>> {
    return std::vector{look_at_syncs(info.durability),
                       look_at_sums(db.reserved_bytes() == sum_bytes),
                       look_at_rights(sqlite3_db_filename(db.handle(), "main")),
                       look_at_room(sqlite3_db_filename(db.handle(), "main"))};
  });
}

}  // namespace perdure::sqlite
