// What people get to see of a location and of the backends of this build.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace perdure {

/// The location without its secrets: `postgres://ann:***@host/database`. Of one that cannot be read
/// only the first word is shown: a password may be anywhere in it. A path is shown as it is,
/// except what would be a password in it, if no file has that name.
[[nodiscard]] std::string shown_location(const std::string& location);

/// Whether a location means a server, written right or not: `postgres://…`, `POSTGRES://…`,
/// `postgres:/…`, `host=… dbname=…`. It is then no path; a file of such a name is `./NAME`.
[[nodiscard]] bool is_address(const std::string& location);

/// What this build can keep sessions in: for `perdure version`, and for reports of faults.
struct BuiltBackend {
  std::string name{};       ///< As StoreInfo has it.
  std::string library{};    ///< Its engine's library and the version that runs; empty if none.
  std::int64_t format = 0;  ///< That it writes; 0: nothing is kept.
};

[[nodiscard]] std::vector<BuiltBackend> built_backends();

}  // namespace perdure
