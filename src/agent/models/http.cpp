// Messages name the base URL as it was given: it holds no secret, or is refused for holding one.

#include "models/http.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <curl/curl.h>
#include <expected>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/api/own_process.hpp"
#include "core/api/wording.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"

namespace perdure {
namespace {

// The part between the scheme and the path.
std::string_view authority_of(std::string_view url) {
  const auto scheme = url.find("://");
  if (scheme == std::string_view::npos) return {};
  url.remove_prefix(scheme + 3);
  return url.substr(0, url.find_first_of("/?#"));
}

std::string_view host_of(std::string_view authority) {
  if (authority.starts_with('[')) return authority.substr(0, authority.find(']') + 1);
  return authority.substr(0, authority.find(':'));
}

bool is_four_numbers(std::string_view host) {
  return host.find_first_not_of("0123456789.") == std::string_view::npos;
}

}  // namespace

bool is_loopback(std::string_view url) {
  const std::string_view host = host_of(authority_of(url));
  return host == "localhost" || host == "[::1]" ||
         (host.starts_with("127.") && is_four_numbers(host));
}

Result<std::string> request_url(std::string_view base, std::string_view path, bool has_key) {
  const bool is_plain = base.starts_with("http://");
  const std::string_view authority = authority_of(base);
  if (!is_plain && !base.starts_with("https://")) {
    return fail(ErrorCode::invalid_argument, "the base URL begins with neither https nor http");
  }
  if (authority.find('@') != std::string_view::npos) {
    return fail(ErrorCode::invalid_argument, "the base URL holds a name or a password; use a key");
  }
  if (host_of(authority).empty() || base.find_first_of(" \t\r\n") != std::string_view::npos) {
    return fail(ErrorCode::invalid_argument, "the base URL has no host: " + std::string(base));
  }
  if (is_plain && has_key && !is_loopback(base)) {
    return fail(ErrorCode::invalid_argument,
                "a key is not sent unencrypted to another machine: " + std::string(base));
  }
  while (base.ends_with('/')) base.remove_suffix(1);
  return std::string(base) + std::string(path);
}

// As the vendors' own clients do it: doubling waits, less a quarter by chance, so that clients that
// failed together do not come back together.

namespace {

// Longer than anybody waits, and far from overflow.
constexpr double wait_ms_max = 1e12;

std::optional<Duration> milliseconds_in(std::string_view text, double unit) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (!(number >= 0)) return std::nullopt;
  return Duration{static_cast<std::int64_t>(std::min(number * unit, wait_ms_max))};
}

std::optional<Duration> until_date(std::string_view text, Timestamp now) {
  const time_t date = curl_getdate(std::string(text).c_str(), nullptr);
  if (date < 0) return std::nullopt;
  const Timestamp when{std::chrono::seconds(date)};
  return std::max(Duration{0}, when - now);
}

}  // namespace

bool is_worth_repeating(const HttpHead& head) {
  if (const auto said = head.find("x-should-retry")) {
    if (*said == "true") return true;
    if (*said == "false") return false;
  }
  return head.status == 408 || head.status == 409 || head.status == 429 || head.status >= 500;
}

std::optional<Duration> wanted_wait(const HttpHead& head, Timestamp now) {
  if (const auto said = head.find("retry-after-ms")) {
    if (const auto wait = milliseconds_in(*said, 1)) return wait;
  }
  const auto said = head.find("retry-after");
  if (!said) return std::nullopt;
  if (const auto wait = milliseconds_in(*said, 1000)) return wait;
  return until_date(*said, now);
}

double chance_from(IdSource& ids) {
  const RawId raw = ids.next();
  // The last bytes of an id are the unpredictable ones.
  std::uint32_t bits = 0;
  for (std::size_t i = raw.size() - 4; i < raw.size(); ++i) bits = bits << 8U | raw.at(i);
  return static_cast<double>(bits) / 4294967296.0;
}

std::optional<Duration> wait_before_next(const RetryOptions& options, const FailedAttempt& failed,
                                         double chance) {
  constexpr int doublings_max = 30;
  const double grown =
      static_cast<double>(options.first_wait.count()) *
      static_cast<double>(1U << static_cast<unsigned>(std::min(failed.number - 1, doublings_max)));
  const double longest = std::min(grown, static_cast<double>(options.wait_max.count()));
  const Duration own{static_cast<std::int64_t>(longest * (1 - chance / 4))};
  // "At once", or a time that is over: it would be asked as fast as it can say no.
  const Duration wait = std::max(failed.wanted.value_or(own), std::min(own, options.first_wait));
  if (failed.since_first + wait > options.total) return std::nullopt;
  return wait;
}

// A line that is whole in one piece is read in place; only one that a piece boundary cuts
// is copied together.

namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

std::unexpected<Error> event_too_large() {
  return fail(ErrorCode::unavailable, "an event of the response's stream is too large");
}

}  // namespace

Result<void> SseParser::feed(std::string_view bytes, const SseSink& sink) {
  while (!bytes.empty()) {
    if (std::exchange(after_cr_, false) && bytes.front() == '\n') {
      bytes.remove_prefix(1);
      continue;
    }
    const std::size_t end = bytes.find_first_of("\r\n");
    const std::string_view piece = bytes.substr(0, end);
    if (line_.size() + piece.size() > event_bytes_max_) return event_too_large();
    if (end == std::string_view::npos) {
      line_ += piece;
      return {};
    }
    after_cr_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    if (!line_.empty()) line_ += piece;
    const auto taken = take_line(line_.empty() ? piece : std::string_view(line_), sink);
    line_.clear();
    if (!taken) return taken;
  }
  return {};
}

Result<void> SseParser::take_line(std::string_view line, const SseSink& sink) {
  if (std::exchange(is_first_line_, false) && line.starts_with(byte_order_mark)) {
    line.remove_prefix(byte_order_mark.size());
  }
  if (line.empty()) return end_event(sink);
  take_field(line);
  if (data_.size() > event_bytes_max_) return event_too_large();
  return {};
}

void SseParser::take_field(std::string_view line) {
  const std::size_t colon = line.find(':');
  const std::string_view field = line.substr(0, colon);
  std::string_view value;
  if (colon != std::string_view::npos) value = line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "event") name_ = value;
  if (field != "data") return;
  if (std::exchange(has_data_, true)) data_ += '\n';
  data_ += value;
}

Result<void> SseParser::end_event(const SseSink& sink) {
  Result<void> taken;
  if (has_data_) taken = sink({.name = name_, .data = data_});
  name_.clear();
  data_.clear();
  has_data_ = false;
  return taken;
}

// The loop is our own (curl_multi), so that a stop wakes it at once and silence is judged by our
// clock.
namespace {

// Once all came that matters, the end is waited for so long, because a connection that ended well
// can be used again.
constexpr Duration end_patience = std::chrono::seconds(1);

// Of all that come, those after the body too. Vendors send one or two thousand bytes.
constexpr std::size_t header_bytes_max = std::size_t{256} << 10U;

}  // namespace

std::size_t Exchange::give(char* to, std::size_t room) {
  was_sent_ = true;
  move();
  std::size_t given = 0;
  while (given < room && part_ < request_.body.size()) {
    const std::string_view rest = request_.body[part_].substr(offset_);
    const std::size_t size = std::min(room - given, rest.size());
    std::memcpy(to + given, rest.data(), size);
    given += size;
    offset_ += size;
    if (offset_ == request_.body[part_].size()) {
      ++part_;
      offset_ = 0;
    }
  }
  return given;
}

std::size_t Exchange::body_bytes() const {
  std::size_t bytes = 0;
  for (const std::string_view part : request_.body) bytes += part.size();
  return bytes;
}

bool Exchange::take_header_line(std::string_view line) {
  move();
  header_bytes_ += line.size();
  if (header_bytes_ > header_bytes_max) {
    too_large_ = fmt::format("the response has more than {} bytes of headers", header_bytes_max);
    return false;
  }
  if (has_head_) return true;  // What follows a body is of no interest.
  const std::string_view text = trimmed(line);
  if (line.starts_with("HTTP/")) {
    head_ = {};
    const std::string_view status = text.substr(std::min(text.find(' '), text.size()));
    if (!status.empty()) {
      std::from_chars(status.data() + 1, status.data() + status.size(), head_.status);
    }
  } else if (text.empty() && head_.status >= 200) {  // Others announce the answer: "Continue".
    has_head_ = true;
    reader_.on_head(std::move(head_));
  } else if (const auto colon = text.find(':'); colon != std::string_view::npos) {
    head_.headers.emplace_back(lowered(text.substr(0, colon)), trimmed(text.substr(colon + 1)));
  }
  return true;
}

bool Exchange::take_body(std::string_view bytes) {
  move();
  const std::size_t room = request_.response_bytes_max - received_;
  received_ += std::min(room, bytes.size());
  if (auto taken = reader_.on_bytes(bytes.substr(0, room)); !taken) {
    failure_ = std::move(taken).error();
    return false;
  }
  if (bytes.size() <= room) return true;
  too_large_ =
      fmt::format("the response is too large: it has more than {} bytes (model.response_bytes_max)",
                  request_.response_bytes_max);
  return false;
}

Duration Exchange::patience() const {
  if (has_all()) return std::min(end_patience, request_.timeouts.idle);
  return received_ == 0 ? request_.timeouts.first_byte : request_.timeouts.idle;
}

std::optional<Duration> Exchange::time_left() const {
  if (!was_sent_) return std::nullopt;
  return std::max(Duration{0}, moved_ + patience() - clock_.uptime());
}

std::string Exchange::what_ran_out() const {
  return "nothing came for " + std::to_string(patience().count()) + " ms";
}

namespace {

struct ListDeleter {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using HeaderList = std::unique_ptr<curl_slist, ListDeleter>;

void add_header(HeaderList& list, const std::string& line) {
  curl_slist* const longer = curl_slist_append(list.get(), line.c_str());
  if (longer == nullptr) return;
  static_cast<void>(list.release());  // The longer list owns it now.
  list.reset(longer);
}

HeaderList header_list(const HttpRequest& request) {
  HeaderList list;
  for (const auto& [name, value] : request.headers) {
    std::string line = name;
    line.append(": ").append(value);
    add_header(list, line);
  }
  add_header(list, "Expect:");  // No round trip before a large body.
  return list;
}

std::size_t on_header(char* data, std::size_t size, std::size_t count, void* exchange) {
  return static_cast<Exchange*>(exchange)->take_header_line({data, size * count}) ? size * count
                                                                                  : 0;
}

std::size_t on_body(char* data, std::size_t size, std::size_t count, void* exchange) {
  return static_cast<Exchange*>(exchange)->take_body({data, size * count}) ? size * count : 0;
}

std::size_t on_read(char* to, std::size_t size, std::size_t count, void* exchange) {
  return static_cast<Exchange*>(exchange)->give(to, size * count);
}

template <class Value>
void set(CURL* easy, CURLoption option, Value value) {
  static_cast<void>(curl_easy_setopt(easy, option, value));
}

void set_up(CURL* easy, const HttpRequest& request, Exchange& exchange, curl_slist* headers) {
  curl_easy_reset(easy);
  set(easy, CURLOPT_URL, request.url.c_str());
  set(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  set(easy, CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_1_1});
  set(easy, CURLOPT_NOSIGNAL, 1L);
  set(easy, CURLOPT_FOLLOWLOCATION, 0L);
  set(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  // A proxy of the environment cannot reach our own machine.
  if (is_loopback(request.url)) set(easy, CURLOPT_PROXY, "");
  if (!request.ca_file.empty()) set(easy, CURLOPT_CAINFO, request.ca_file.c_str());
  set(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request.timeouts.connect.count()));
  set(easy, CURLOPT_POST, 1L);
  set(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(exchange.body_bytes()));
  set(easy, CURLOPT_HTTPHEADER, headers);
  // Without a way to rewind the body, libcurl cannot resend it by itself, as it would when a
  // connection in use breaks: the first may have arrived.
  set(easy, CURLOPT_READFUNCTION, &on_read);
  set(easy, CURLOPT_READDATA, &exchange);
  set(easy, CURLOPT_HEADERFUNCTION, &on_header);
  set(easy, CURLOPT_HEADERDATA, &exchange);
  set(easy, CURLOPT_WRITEFUNCTION, &on_body);
  set(easy, CURLOPT_WRITEDATA, &exchange);
}

// Whether trying again could not help.
bool is_hopeless(CURLcode code) {
  constexpr std::array hopeless = {CURLE_UNSUPPORTED_PROTOCOL,     CURLE_URL_MALFORMAT,
                                   CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE,
                                   CURLE_SSL_CERTPROBLEM,          CURLE_SSL_CIPHER};
  return std::ranges::find(hopeless, code) != hopeless.end();
}

HttpEnding ending_of(CURLcode code, const Exchange& exchange) {
  if (code == CURLE_OK || exchange.has_all()) return HttpEnding::whole;
  if (exchange.has_head()) return HttpEnding::cut;
  if (exchange.was_sent()) return HttpEnding::lost;
  return is_hopeless(code) ? HttpEnding::impossible : HttpEnding::unreachable;
}

HttpEnd end_of(CURLcode code, std::string_view detail, const Exchange& exchange) {
  if (exchange.failure()) {
    return {.ending = HttpEnding::refused, .why = exchange.failure()->message, .was_sent = true};
  }
  if (const std::string& why = exchange.what_is_too_large(); !why.empty()) {
    return {.ending = HttpEnding::cut, .why = why, .was_sent = true};
  }
  HttpEnd end{.ending = ending_of(code, exchange), .was_sent = exchange.was_sent()};
  if (end.ending == HttpEnding::whole) return end;
  end.why = detail.empty() ? std::string_view(curl_easy_strerror(code)) : detail;
  return end;
}

HttpEnd ran_out(const Exchange& exchange) {
  HttpEnding ending = exchange.has_head() ? HttpEnding::cut : HttpEnding::lost;
  if (exchange.has_all()) ending = HttpEnding::whole;
  return {.ending = ending, .why = exchange.what_ran_out(), .was_sent = true};
}

// How long the loop may sleep: libcurl's own timers wake it earlier.
int poll_time(std::optional<Duration> left) {
  constexpr Duration longest = std::chrono::seconds(60);
  return static_cast<int>(std::min(left.value_or(longest), longest).count());
}

// Sets libcurl up once for the process; it is never torn down.
CURLcode started() {
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  return ready;
}

}  // namespace

struct CurlTransport::Handles {
  struct EasyDeleter {
    void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
  };
  struct MultiDeleter {
    void operator()(CURLM* handle) const { curl_multi_cleanup(handle); }
  };

  // In this order: the multi handle holds the connections that the easy one used.
  std::unique_ptr<CURLM, MultiDeleter> multi{curl_multi_init()};
  std::unique_ptr<CURL, EasyDeleter> easy{curl_easy_init()};
  std::array<char, CURL_ERROR_SIZE> detail{};

  // Runs until libcurl is done, and then gives its code; or until something ends it before.
  [[nodiscard]] std::optional<HttpEnd> run(const Exchange& exchange, const std::stop_token& stop,
                                           CURLcode& code);
};

std::optional<HttpEnd> CurlTransport::Handles::run(const Exchange& exchange,
                                                   const std::stop_token& stop, CURLcode& code) {
  int running = 1;
  while (true) {
    static_cast<void>(curl_multi_perform(multi.get(), &running));
    if (running == 0) break;
    if (stop.stop_requested()) {
      return HttpEnd{
          .ending = HttpEnding::stopped, .why = "stopped", .was_sent = exchange.was_sent()};
    }
    const auto left = exchange.time_left();
    if (left == Duration{0}) return ran_out(exchange);
    static_cast<void>(curl_multi_poll(multi.get(), nullptr, 0, poll_time(left), nullptr));
  }
  int queued = 0;
  const CURLMsg* const done = curl_multi_info_read(multi.get(), &queued);
  code = done == nullptr ? CURLE_FAILED_INIT : done->data.result;
  return std::nullopt;
}

CurlTransport::CurlTransport(const Clock& clock) : clock_(clock) {}

CurlTransport::~CurlTransport() = default;

HttpEnd CurlTransport::post(const HttpRequest& request, HttpReader& reader,
                            const std::stop_token& stop) {
  // A child of fork(2) shares the connection; what it says there cuts off the parent.
  if (auto here = handles_.get_deleter().process.check(); !here) {
    return {.ending = HttpEnding::unequipped, .why = here.error().message, .was_sent = false};
  }
  if (const CURLcode ready = started(); ready != CURLE_OK) {
    return {.ending = HttpEnding::unequipped, .why = curl_easy_strerror(ready), .was_sent = false};
  }
  if (!handles_) handles_ = of_own_process(std::make_unique<Handles>());
  CURL* const easy = handles_->easy.get();
  CURLM* const multi = handles_->multi.get();
  if (easy == nullptr || multi == nullptr) {
    return {.ending = HttpEnding::unreachable, .why = "libcurl has no memory", .was_sent = false};
  }
  if (stop.stop_requested()) {
    return {.ending = HttpEnding::stopped, .why = "stopped", .was_sent = false};
  }
  Exchange exchange(request, reader, clock_);
  const HeaderList headers = header_list(request);
  set_up(easy, request, exchange, headers.get());
  handles_->detail.front() = '\0';
  set(easy, CURLOPT_ERRORBUFFER, handles_->detail.data());
  static_cast<void>(curl_multi_add_handle(multi, easy));
  CURLcode code = CURLE_OK;
  std::optional<HttpEnd> ended;
  {
    const std::stop_callback wake(stop, [multi] { curl_multi_wakeup(multi); });
    ended = handles_->run(exchange, stop, code);
  }
  static_cast<void>(curl_multi_remove_handle(multi, easy));
  if (ended) return *std::move(ended);
  return end_of(code, handles_->detail.data(), exchange);
}

}  // namespace perdure
