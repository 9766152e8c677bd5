// Not "store.db…": whoever copies, removes or gives other rights to the files of a store does it by
// that name, and this is a folder.

#include "live/programs_folder.hpp"

#include <filesystem>
#include <string>
#include <sys/stat.h>
#include <system_error>

#include "live/live_agent.hpp"
#include "perdure/core/error.hpp"
#include "perdure/store/store.hpp"
#include "world.hpp"

namespace perdure::cli {

namespace fs = std::filesystem;

std::string programs_folder(const World& world, const std::string& location, Store& store) {
  const StoreInfo info = store.info();
  if (info.backend != "sqlite") return state_folder(world) + "/programs/" + info.incarnation;
  std::error_code ignored;  // A path that does not lead to itself leads to a folder of its own.
  const fs::path file = fs::weakly_canonical(location, ignored);
  return (file.parent_path() / ("." + file.filename().string() + ".programs")).string();
}

Result<void> make_programs_folder(const World& world, const std::string& folder,
                                  const std::string& location) {
  std::error_code ignored;
  const bool is_made = fs::create_directories(folder, ignored);
  struct stat found{};
  if (::lstat(folder.c_str(), &found) != 0) return {};
  if (S_ISLNK(found.st_mode)) {
    return fail(ErrorCode::unavailable, folder + " is a link, and is not followed: remove it");
  }
  struct stat store{};
  const bool is_the_stores = ::stat(location.c_str(), &store) == 0 && store.st_uid == found.st_uid;
  if (found.st_uid != world.user_id && found.st_uid != 0 && !is_the_stores) {
    return fail(ErrorCode::unavailable,
                folder + " belongs to another user, who could have us end any process: remove it",
                "authority");
  }
  if (!is_made) return {};
  const fs::perms beside = fs::status(fs::path(folder).parent_path(), ignored).permissions();
  fs::permissions(folder, (beside & fs::perms::group_all) | fs::perms::owner_all, ignored);
  return {};
}

}  // namespace perdure::cli
