// A log that is empty says nothing, and is nobody's.

#include "sqlite/new_place.hpp"

#include <filesystem>
#include <fmt/format.h>
#include <string>
#include <system_error>

#include "perdure/core/error.hpp"

namespace perdure::sqlite {

Result<void> check_new_place(const std::string& path) {
  std::error_code unknown;
  if (std::filesystem::exists(path, unknown)) {
    return fail(ErrorCode::already_exists, fmt::format("there is a file {} already", path));
  }
  for (const char* end : {"-wal", "-journal"}) {
    const std::string log = path + end;
    const auto bytes = std::filesystem::file_size(log, unknown);
    if (unknown || bytes == 0) continue;
    return fail(ErrorCode::already_exists,
                fmt::format("there is a file {} already, which belongs to another store: move it "
                            "away first, or choose another name",
                            log));
  }
  return {};
}

}  // namespace perdure::sqlite
