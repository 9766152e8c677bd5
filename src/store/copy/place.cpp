// Only locations with "://" have a place for a password. A file may be called anything.

#include "copy/place.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace perdure::copy {

namespace {

bool is_secret(std::string_view option) {
  return option.starts_with("password=") || option.starts_with("sslpassword=");
}

std::string public_options(std::string_view options) {
  std::string kept;
  while (!options.empty()) {
    const std::size_t end = options.find('&');
    const std::string_view option = options.substr(0, end);
    if (!is_secret(option)) kept.append(kept.empty() ? "?" : "&").append(option);
    options = end == std::string_view::npos ? std::string_view() : options.substr(end + 1);
  }
  return kept;
}

}  // namespace

std::string without_password(const std::string& location) {
  const std::size_t scheme = location.find("://");
  if (scheme == std::string::npos) return location;
  const std::size_t user = scheme + 3;
  const std::size_t question = location.find('?', user);
  std::string shown = location.substr(0, question);
  // A password may hold any character, also a slash that somebody forgot to escape.
  const std::size_t host = shown.rfind('@');
  if (host != std::string::npos && host >= user) {
    const std::size_t colon = shown.find(':', user);
    if (colon < host) shown.erase(colon, host - colon);
  }
  if (question != std::string::npos) shown += public_options(location.substr(question + 1));
  return shown;
}

}  // namespace perdure::copy
