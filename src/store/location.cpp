// Only addresses of servers have secrets; a path is shown as it is.

#include "perdure/store/location.hpp"

#include <string>

#include "postgres/address.hpp"

namespace perdure {

std::string shown_location(const std::string& location) {
  if (postgres::is_postgres(location)) {
    const auto address = postgres::parse_address(location);
    return address ? address->shown : "postgres://…";
  }
  const auto host = location.find("://");
  return host == std::string::npos ? location : location.substr(0, host) + "://…";
}

}  // namespace perdure
