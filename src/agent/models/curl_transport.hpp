// HTTP over libcurl.
//
// HTTP/1.1 only: a stream of events gains nothing from HTTP/2, and its ends are plain there. A
// connection is kept for the next request. Redirects are not followed: a key belongs to the
// host it was given for.
//
// Thread safety: none; one thread at a time, except for the stop token.

#pragma once

#include <memory>
#include <stop_token>

#include "models/http.hpp"
#include "perdure/core/own_process.hpp"
#include "perdure/core/time.hpp"

namespace perdure {

class CurlTransport final : public HttpTransport {
 public:
  explicit CurlTransport(const Clock& clock);
  ~CurlTransport() override;

  [[nodiscard]] HttpEnd post(const HttpRequest& request, HttpReader& reader,
                             const std::stop_token& stop) override;

 private:
  struct Handles;
  const Clock& clock_;
  OwnProcessPtr<Handles> handles_;  ///< From the first request on.
};

}  // namespace perdure
