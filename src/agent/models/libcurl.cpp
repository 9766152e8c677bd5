// Set up once, and never torn down.

#include "models/libcurl.hpp"

#include <future>
#include <memory>

#include "perdure/core/shared_library.hpp"

namespace perdure {
namespace {

const Libcurl* load() {
  auto loaded = std::make_unique<Libcurl>();
  if (loaded->library.check()) static_cast<void>(loaded->global_init(CURL_GLOBAL_DEFAULT));
  return loaded.release();  // Never freed: requests may still end while the process does.
}

const std::shared_future<const Libcurl*>& loading() {
  static const std::shared_future<const Libcurl*> begun = std::async(load).share();
  return begun;
}

}  // namespace

void expect_libcurl() { static_cast<void>(loading()); }

const Libcurl& libcurl() {
  static const Libcurl& loaded = *loading().get();
  return loaded;
}

}  // namespace perdure
