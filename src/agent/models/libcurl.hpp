// libcurl, loaded when a model on a server is first reckoned with.

#pragma once

#include <curl/curl.h>

#include "perdure/core/error.hpp"
#include "perdure/core/shared_library.hpp"

namespace perdure {

/// Its functions, each by its name without curl.
struct Libcurl {
  SharedLibrary library{"libcurl.so.4", "libcurl4"};
  decltype(curl_easy_cleanup)* easy_cleanup =
      library.find<decltype(curl_easy_cleanup)>("curl_easy_cleanup");
  decltype(curl_easy_init)* easy_init = library.find<decltype(curl_easy_init)>("curl_easy_init");
  decltype(curl_easy_reset)* easy_reset =
      library.find<decltype(curl_easy_reset)>("curl_easy_reset");
  decltype(curl_easy_setopt)* easy_setopt =
      library.find<decltype(curl_easy_setopt)>("curl_easy_setopt");
  decltype(curl_easy_strerror)* easy_strerror =
      library.find<decltype(curl_easy_strerror)>("curl_easy_strerror");
  decltype(curl_getdate)* getdate = library.find<decltype(curl_getdate)>("curl_getdate");
  decltype(curl_global_init)* global_init =
      library.find<decltype(curl_global_init)>("curl_global_init");
  decltype(curl_multi_add_handle)* multi_add_handle =
      library.find<decltype(curl_multi_add_handle)>("curl_multi_add_handle");
  decltype(curl_multi_cleanup)* multi_cleanup =
      library.find<decltype(curl_multi_cleanup)>("curl_multi_cleanup");
  decltype(curl_multi_info_read)* multi_info_read =
      library.find<decltype(curl_multi_info_read)>("curl_multi_info_read");
  decltype(curl_multi_init)* multi_init =
      library.find<decltype(curl_multi_init)>("curl_multi_init");
  decltype(curl_multi_perform)* multi_perform =
      library.find<decltype(curl_multi_perform)>("curl_multi_perform");
  decltype(curl_multi_poll)* multi_poll =
      library.find<decltype(curl_multi_poll)>("curl_multi_poll");
  decltype(curl_multi_remove_handle)* multi_remove_handle =
      library.find<decltype(curl_multi_remove_handle)>("curl_multi_remove_handle");
  decltype(curl_multi_wakeup)* multi_wakeup =
      library.find<decltype(curl_multi_wakeup)>("curl_multi_wakeup");
  decltype(curl_slist_append)* slist_append =
      library.find<decltype(curl_slist_append)>("curl_slist_append");
  decltype(curl_slist_free_all)* slist_free_all =
      library.find<decltype(curl_slist_free_all)>("curl_slist_free_all");
  decltype(curl_version_info)* version_info =
      library.find<decltype(curl_version_info)>("curl_version_info");

  /// Whether it can be used; sets it up as well.
  [[nodiscard]] Result<void> check() const;
};

/// Begins to load it, on a thread of its own.
void expect_libcurl();

/// Waits until it is loaded and set up. Fails: `unavailable` without a libcurl that can be used.
[[nodiscard]] Result<void> load_libcurl();

/// After load_libcurl() succeeded once.
[[nodiscard]] const Libcurl& libcurl();

}  // namespace perdure
