// One POST whose answer streams in: the seam between providers and the network.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "perdure/agent/provider.hpp"
#include "perdure/core/error.hpp"

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

class HttpTransport {
 public:
  virtual ~HttpTransport() = default;
  /// Returns soon after `stop` is requested.
  [[nodiscard]] virtual HttpEnd post(const HttpRequest& request, HttpReader& reader,
                                     const std::stop_token& stop) = 0;
};

// The little that must be known of a URL: whether it is one, and where it leads.

/// Whether its host is this machine, by name (localhost) or by number.
[[nodiscard]] bool is_loopback(std::string_view url);

/// The base with the path behind it. Fails: `invalid_argument` for a base that is not http or
/// https with a host, that holds a password, or whose connection is not encrypted though a key
/// would go over it to another machine.
[[nodiscard]] Result<std::string> request_url(std::string_view base, std::string_view path,
                                              bool has_key);

}  // namespace perdure
