// HTTP over libcurl.
//
// HTTP/1.1 only: a stream of events gains nothing from HTTP/2, and its ends are plain there. A
// connection is kept for the next request. Redirects are not followed: a key belongs to the
// host it was given for.
//
// Thread safety: none; one thread at a time, except for the stop token.

#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "core/api/own_process.hpp"
#include "models/http.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"

namespace perdure {

class CurlTransport {
 public:
  explicit CurlTransport(const Clock& clock);
  ~CurlTransport();

  /// Returns soon after `stop` is requested.
  [[nodiscard]] HttpEnd post(const HttpRequest& request, HttpReader& reader,
                             const std::stop_token& stop);

 private:
  struct Handles;
  const Clock& clock_;
  OwnProcessPtr<Handles> handles_;  ///< From the first request on.
};

// One request and its answer, as libcurl's callbacks see it: what has moved, and when.

class Exchange {
 public:
  Exchange(const HttpRequest& request, HttpReader& reader, const Clock& clock)
      : request_(request), reader_(reader), clock_(clock), moved_(clock.uptime()) {}

  /// The next bytes of the body, at most `room`; how many there were.
  [[nodiscard]] std::size_t give(char* to, std::size_t room);
  // Each false: the exchange must end.
  [[nodiscard]] bool take_header_line(std::string_view line);
  [[nodiscard]] bool take_body(std::string_view bytes);

  [[nodiscard]] bool was_sent() const { return was_sent_; }
  [[nodiscard]] bool has_head() const { return has_head_; }
  [[nodiscard]] bool has_all() const { return has_head_ && reader_.has_all(); }
  [[nodiscard]] std::size_t body_bytes() const;
  /// Until patience ends; nothing while libcurl itself watches the time, before anything is sent.
  [[nodiscard]] std::optional<Duration> time_left() const;
  /// What ran out, once time_left() is zero.
  [[nodiscard]] std::string what_ran_out() const;
  /// Why take_body said no, in the reader's words; or
  [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }
  /// because there is too much of it. Empty: there is not.
  [[nodiscard]] const std::string& what_is_too_large() const { return too_large_; }

 private:
  [[nodiscard]] Duration patience() const;
  void move() { moved_ = clock_.uptime(); }

  const HttpRequest& request_;
  HttpReader& reader_;
  const Clock& clock_;
  Uptime moved_;
  std::size_t part_ = 0;  // Where in request_.body giving is.
  std::size_t offset_ = 0;
  HttpHead head_;
  bool was_sent_ = false;
  bool has_head_ = false;
  std::string too_large_;
  std::size_t header_bytes_ = 0;
  std::size_t received_ = 0;
  std::optional<Error> failure_;
};

}  // namespace perdure
