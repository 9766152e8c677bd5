// Not "store.db-…": who gives the files of a store other rights by that name would lock its programs out.

#include "live/programs_folder.hpp"

#include <filesystem>
#include <string>
#include <system_error>

#include "live/live_agent.hpp"
#include "perdure/store/store.hpp"
#include "perdure/store/upkeep.hpp"
#include "world.hpp"

namespace perdure::cli {

namespace fs = std::filesystem;

std::string programs_folder(const World& world, const std::string& location, Store& store) {
  const StoreInfo info = store.upkeep().info();
  if (info.backend != "sqlite") return state_folder(world) + "/programs/" + info.incarnation;
  std::error_code ignored;  // A path that does not lead to itself leads to a folder of its own.
  return fs::weakly_canonical(location, ignored).string() + ".programs";
}

void make_programs_folder(const std::string& folder) {
  std::error_code ignored;
  if (!fs::create_directories(folder, ignored)) return;
  const fs::perms beside = fs::status(fs::path(folder).parent_path(), ignored).permissions();
  fs::permissions(folder, (beside & fs::perms::group_all) | fs::perms::owner_all, ignored);
}

}  // namespace perdure::cli
