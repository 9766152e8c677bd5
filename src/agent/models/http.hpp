// One POST whose answer streams in: what is sent, what comes, and whether it is tried again.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/api/own_process.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"

namespace perdure {

struct HttpRequest {
  std::string url;
  std::vector<std::pair<std::string, std::string>> headers;
  std::vector<std::string_view> body;  ///< One after the other; never copied together.
  HttpTimeouts timeouts;
  std::size_t response_bytes_max = 0;
  std::string ca_file{};
};

/// Status and headers of an answer.
struct HttpHead {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers{};  ///< Names in lower case.

  [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const {
    for (const auto& [key, value] : headers) {
      if (key == name) return value;
    }
    return std::nullopt;
  }
};

/// Takes an answer as it comes.
class HttpReader {
 public:
  virtual ~HttpReader() = default;
  virtual void on_head(HttpHead head) = 0;
  /// What it fails with ends the exchange.
  [[nodiscard]] virtual Result<void> on_bytes(std::string_view bytes) = 0;
  /// Whether all came that matters, though the other side has not ended yet.
  [[nodiscard]] virtual bool has_all() const = 0;
};

enum class HttpEnding : std::uint8_t {
  whole,        ///< The answer ended as HTTP says it should, or the reader has all.
  unreachable,  ///< Nothing was sent; it may work later.
  impossible,   ///< Nothing was sent; it cannot work as it is: the URL, the certificate.
  unequipped,   ///< Nothing was sent; this machine has nothing to send it by.
  lost,         ///< Something was sent, and no answer began.
  cut,          ///< The answer began, and did not end.
  stopped,      ///< By the caller.
  refused,      ///< By the reader.
};

struct HttpEnd {
  HttpEnding ending = HttpEnding::whole;
  std::string why{};  ///< Without the URL's path, and without headers: for people.
  bool was_sent = false;
};

// The little that must be known of a URL: whether it is one, and where it leads.

/// Whether its host is this machine, by name (localhost) or by number.
[[nodiscard]] bool is_loopback(std::string_view url);

/// The base with the path behind it. Fails: `invalid_argument` for a base that is not http or
/// https with a host, that holds a password, or whose connection is not encrypted though a key
/// would go over it to another machine.
[[nodiscard]] Result<std::string> request_url(std::string_view base, std::string_view path,
                                              bool has_key);

// Whether a failed attempt is repeated, and when: pure, so that no test waits.

/// Whether an answer of this status says "later" rather than "no". A provider may say so itself
/// (x-should-retry).
[[nodiscard]] bool is_worth_repeating(const HttpHead& head);

/// What the provider wants us to wait: retry-after-ms, retry-after in seconds or as a date. Nothing
/// if it does not say, or nothing that makes sense.
[[nodiscard]] std::optional<Duration> wanted_wait(const HttpHead& head, Timestamp now);

/// A number in [0, 1), by chance.
[[nodiscard]] double chance_from(IdSource& ids);

struct FailedAttempt {
  int number = 1;  ///< The first is 1.
  Duration since_first{};
  std::optional<Duration> wanted{};  ///< By the provider.
};

/// Nothing: it is not repeated, because the next attempt would start later than `total` allows.
[[nodiscard]] std::optional<Duration> wait_before_next(const RetryOptions& options,
                                                       const FailedAttempt& failed, double chance);

// Server-sent events, taken out of a stream of bytes that arrives in any pieces.
//
// As the HTML standard has it: lines end with LF, CR or CRLF; a blank line ends an event; an event
// that the end of the stream cuts off is none. Ids and retry times have no meaning for a response
// to one POST, and are passed over.

/// Both live until the function that is given them returns.
struct SseEvent {
  std::string_view name;  ///< Empty: none was said.
  std::string_view data;  ///< Several data lines are joined with LF.
};

/// What it fails with ends the feeding.
using SseSink = std::function<Result<void>(const SseEvent&)>;

class SseParser {
 public:
  static constexpr std::size_t event_bytes_default = 10'000'000;

  /// `event_bytes_max`: no line, and no event's data, may be longer.
  explicit SseParser(std::size_t event_bytes_max = event_bytes_default)
      : event_bytes_max_(event_bytes_max) {}

  /// Gives every event that ends within `bytes` to `sink`. After a failure the parser is of no
  /// further use. Fails: `unavailable` for an event beyond the limit; whatever `sink` fails with.
  [[nodiscard]] Result<void> feed(std::string_view bytes, const SseSink& sink);

 private:
  [[nodiscard]] Result<void> take_line(std::string_view line, const SseSink& sink);
  void take_field(std::string_view line);
  [[nodiscard]] Result<void> end_event(const SseSink& sink);

  std::size_t event_bytes_max_;
  std::string line_;  // The part of a line that earlier pieces brought.
  std::string name_;
  std::string data_;
  bool has_data_ = false;
  bool after_cr_ = false;  // A LF that comes now belongs to the CR before it.
  bool is_first_line_ = true;
};

// HTTP over libcurl.
//
// HTTP/1.1 only: a stream of events gains nothing from HTTP/2, and its ends are plain there. A
// connection is kept for the next request. Redirects are not followed: a key belongs to the
// host it was given for.

/// Thread safety: none; one thread at a time, except for the stop token.
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
