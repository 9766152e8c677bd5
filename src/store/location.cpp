// What people get to see of a location and of the backends of this build.

#include "store/api/location.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <filesystem>
#include <fmt/format.h>
#include <libpq-fe.h>
#include <sqlite3.h>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "postgres/client/address.hpp"
#include "postgres/upkeep/schema.hpp"
#include "sqlite/engine/schema.hpp"

namespace perdure {

// A mistyped location may have a password anywhere in it. So of an address that cannot be read only
// the first word is shown, and of a path, which may be an address without its scheme, nothing
// between a colon and an @; unless a file has that name: then it is not a secret.

namespace {

constexpr std::array<std::string_view, 3> server_words = {"postgresql", "postgres", "pgsql"};
// With which libpq's other form of an address begins: `host=h dbname=d`.
constexpr std::array<std::string_view, 7> settings = {
    "host=", "hostaddr=", "port=", "dbname=", "user=", "service=", "sslmode="};
constexpr std::string_view password = "password=";
constexpr std::string_view file_scheme = "sqlite:";

std::string in_small_letters(std::string_view text) {
  std::string small(text);
  std::ranges::transform(small, small.begin(), [](unsigned char letter) {
    return static_cast<char>(std::tolower(letter));
  });
  return small;
}

bool begins_like_a_server(std::string_view small) {
  return std::ranges::any_of(server_words, [&](std::string_view word) {
    if (!small.starts_with(word)) return false;
    const std::string_view rest = small.substr(word.size());
    return rest.starts_with(':') || rest.starts_with("//");
  });
}

bool has_settings(std::string_view small) {
  return small.contains(password) || std::ranges::any_of(settings, [&](std::string_view each) {
           return small.starts_with(each);
         });
}

// `mysql://`, `postgres:/`, `host=`; of something else nothing.
std::string_view first_word(std::string_view address) {
  const std::size_t end = std::min(address.find_first_of(":=/"), address.size());
  const bool is_plain = std::ranges::all_of(address.substr(0, end), [](unsigned char letter) {
    return std::isalnum(letter) != 0 || letter == '+' || letter == '.' || letter == '-';
  });
  if (end == address.size() || !is_plain) return {};
  return address.substr(0, address.find_first_not_of(":=/", end));
}

std::string shown_path(const std::string& location) {
  const std::size_t begin = location.starts_with(file_scheme) ? file_scheme.size() : 0;
  std::error_code ignored;
  if (std::filesystem::exists(location.substr(begin), ignored)) return location;
  std::string shown = location;
  const std::size_t secret = in_small_letters(shown).find(password, begin);
  if (secret != std::string::npos)
    shown.replace(secret + password.size(), std::string::npos, "***");
  const std::size_t colon = shown.find(':', begin);
  const std::size_t at = shown.rfind('@');
  if (colon < at && at != std::string::npos) shown.replace(colon + 1, at - colon - 1, "***");
  return shown;
}

}  // namespace

bool is_address(const std::string& location) {
  if (location.starts_with('/') || location.starts_with('.') || location.starts_with(file_scheme)) {
    return false;
  }
  const std::string small = in_small_letters(location);
  return small.contains("://") || begins_like_a_server(small) || has_settings(small);
}

std::string shown_location(const std::string& location) {
  if (postgres::is_postgres(location)) {
    const auto address = postgres::parse_address(location);
    return address ? address->shown : "postgres://…";
  }
  if (is_address(location)) return std::string(first_word(location)) + "…";
  return shown_path(location);
}

// libpq tells its version as a number: 150014 is 15.14.

namespace {

std::string libpq_words() {
  constexpr int major = 10'000;
  const int version = PQlibVersion();
  return fmt::format("libpq {}.{}", version / major, version % major);
}

}  // namespace

std::vector<BuiltBackend> built_backends() {
  return {{.name = "sqlite",
           .library = fmt::format("SQLite {}", sqlite3_libversion()),
           .format = sqlite::format_number},
          {.name = "postgres", .library = libpq_words(), .format = postgres::format_number},
          {.name = "memory"}};
}

}  // namespace perdure
