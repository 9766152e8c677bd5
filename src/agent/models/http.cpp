// Messages name the base as it was given: it holds no secret, or is refused for holding one.

#include "models/http.hpp"

#include <string>
#include <string_view>

#include "perdure/core/error.hpp"

namespace perdure {
namespace {

// What stands between the scheme and the path.
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

}  // namespace perdure
