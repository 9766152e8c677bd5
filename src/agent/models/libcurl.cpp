// Set up once, and never torn down.

#include "models/libcurl.hpp"

#include <fmt/format.h>
#include <future>

#include "perdure/core/error.hpp"
#include "perdure/core/shared_library.hpp"

namespace perdure {
namespace {

// 7.87: from then on a server that hangs up during an encrypted request raises no SIGPIPE.
constexpr unsigned version_min = 0x075700;

constinit LoadedTable<Libcurl> libcurl_table;

}  // namespace

Result<void> Libcurl::check() const {
  if (auto usable = library.check(); !usable) return usable;
  const curl_version_info_data* const info = version_info(CURLVERSION_NOW);
  if (info->version_num < version_min) {
    return fail(ErrorCode::unavailable,
                fmt::format("libcurl {} is too old: 7.87 or a newer one is needed", info->version));
  }
  const CURLcode ready = global_init(CURL_GLOBAL_DEFAULT);
  if (ready == CURLE_OK) return {};
  return fail(ErrorCode::unavailable,
              fmt::format("libcurl does not start: {}", easy_strerror(ready)));
}

void expect_libcurl() {
  static const std::future<void> begun = std::async([] { static_cast<void>(load_libcurl()); });
}

Result<void> load_libcurl() { return libcurl_table.load(); }

const Libcurl& libcurl() { return libcurl_table.get(); }

}  // namespace perdure
