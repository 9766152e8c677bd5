// A folder of its own: whoever makes the file may need a second name beside it.

#include "context/spooled_file.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <ios>
#include <istream>
#include <ostream>
#include <stdlib.h>
#include <string>
#include <system_error>
#include <utility>

#include "context/process_io.hpp"
#include "perdure/core/error.hpp"

namespace perdure::cli {
namespace {

// Piece by piece: it may be larger than memory. True if all of it arrived.
bool carry(std::istream& from, std::ostream& to) {
  std::array<char, 1U << 16U> piece{};
  while (from.read(piece.data(), piece.size()) || from.gcount() > 0) {
    if (!to.write(piece.data(), from.gcount())) return false;
  }
  return from.eof() && to.flush();
}

}  // namespace

Result<SpooledFile> SpooledFile::make(const ProcessIo& io) {
  const auto named = io.environment("TMPDIR");
  std::string folder = (named && !named->empty() ? *named : "/tmp") + "/perdure-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) {
    return fail(ErrorCode::unavailable,
                fmt::format("cannot make a folder {}: {}. TMPDIR names another place", folder,
                            std::strerror(errno)));
  }
  return SpooledFile(std::move(folder));
}

SpooledFile::~SpooledFile() {
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

Result<void> SpooledFile::fill(std::istream& from) const {
  std::ofstream to(path(), std::ios::binary);
  if (to && carry(from, to)) return {};
  return fail(ErrorCode::unavailable,
              fmt::format("cannot keep what stdin has in {}: is there room? TMPDIR names another "
                          "place",
                          path()));
}

Result<void> SpooledFile::pour(std::ostream& to) const {
  std::ifstream from(path(), std::ios::binary);
  errno = 0;
  if (from && carry(from, to)) return {};
  const std::string why = errno != 0 ? fmt::format(": {}", std::strerror(errno)) : "";
  return fail(ErrorCode::unavailable, "not all of it could be written to stdout" + why,
              std::string(output_subject));
}

}  // namespace perdure::cli
