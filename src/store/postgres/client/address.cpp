// A location is cut by the same rules as libpq's, but more strictly: where libpq would take a piece
// of a badly written password for a host or a port, and say so in an error, it is refused.

#include "postgres/client/address.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <expected>
#include <fmt/format.h>
#include <libpq-fe.h>
#include <memory>
#include <optional>
#include <ranges>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "perdure/core/error.hpp"

namespace perdure::postgres {
namespace {

constexpr std::array<std::string_view, 2> schemes = {"postgres://", "postgresql://"};
constexpr std::size_t identifier_bytes_max = 63;
constexpr std::size_t pool_max = 1'000;
constexpr int partitions_max = 1'024;

// A server that vanishes silently is noticed within a minute, not after two hours.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> defaults = {{
    {"fallback_application_name", "perdure"},
    {"keepalives_idle", "20"},
    {"keepalives_interval", "10"},
    {"keepalives_count", "3"},
    {"tcp_user_timeout", "50000"},
}};

struct OptionsFreer {
  void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
};
using Options = std::unique_ptr<PQconninfoOption, OptionsFreer>;

std::unexpected<Error> refuse(std::string message) {
  return fail(ErrorCode::invalid_argument, std::move(message));
}

/// The pieces of a location, each as it was written.
struct Pieces {
  std::string_view scheme;
  std::string_view user;     ///< With its password, and the `@` behind it.
  std::string_view place;    ///< Hosts and database.
  std::string_view options;  ///< Behind the `?`.
};

Result<Pieces> cut(std::string_view location) {
  const auto* scheme = std::ranges::find_if(
      schemes, [&](std::string_view text) { return location.starts_with(text); });
  if (scheme == schemes.end()) return refuse("a PostgreSQL location begins with postgres://");
  if (location.contains('\0')) return refuse("a location holds no NUL");
  Pieces pieces{.scheme = *scheme, .user = {}, .place = {}, .options = {}};
  std::string_view rest = location.substr(scheme->size());
  const std::size_t at = rest.find_first_of("@/");
  if (at != std::string_view::npos && rest[at] == '@') pieces.user = rest.substr(0, at + 1);
  rest.remove_prefix(pieces.user.size());
  const std::size_t question = rest.find('?');
  pieces.place = rest.substr(0, question);
  if (question != std::string_view::npos) pieces.options = rest.substr(question + 1);
  if (pieces.place.contains('@')) {
    return refuse(
        "there is an @ behind the user's part of the location. In a password or a name write "
        "@ as %40, / as %2F, : as %3A, ? as %3F and % as %25.");
  }
  return pieces;
}

std::optional<std::string> decoded(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      plain += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const char* const digits = text.data() + i + 1;
    unsigned char byte = 0;
    const auto [end, error] = std::from_chars(digits, digits + 2, byte, 16);
    if (error != std::errc() || end != digits + 2 || byte == 0) return std::nullopt;
    plain += static_cast<char>(byte);
    i += 2;
  }
  return plain;
}

struct Option {
  std::string name{};
  std::string value{};
  std::string_view written{};
};

Result<std::vector<Option>> cut_options(std::string_view text) {
  std::vector<Option> options;
  while (!text.empty()) {
    const std::string_view written = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(text.size(), written.size() + 1));
    const std::size_t equals = written.find('=');
    if (equals == std::string_view::npos) {
      return refuse(
          "an option of the location has no value: name=value, and & between two of them");
    }
    auto name = decoded(written.substr(0, equals));
    auto value = decoded(written.substr(equals + 1));
    if (!name || !value) {
      return refuse("an option of the location is not percent-encoded as it should be");
    }
    const bool is_plain = !name->empty() && std::ranges::all_of(*name, [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    });
    if (!is_plain) return refuse("an option of the location has an odd name");
    options.push_back({std::move(*name), std::move(*value), written});
  }
  return options;
}

template <class Number>
std::optional<Number> number_in(std::string_view text, Number least, Number most) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (number < least || number > most) return std::nullopt;
  return number;
}

Result<void> take_schema(Address& address, const std::string& value) {
  if (value.empty() || value.size() > identifier_bytes_max || value.starts_with("pg_")) {
    return refuse(fmt::format("schema= is a name of 1 to {} bytes that does not begin with pg_",
                              identifier_bytes_max));
  }
  // The name becomes part of the text of statements, within literals and bodies of functions too.
  if (value.find_first_of("'$\\") != std::string::npos || value.contains("perdure.")) {
    return refuse("schema= is a name without ', $, \\ and `perdure.` in it: choose another");
  }
  address.schema = value;
  return {};
}

/// False: it is not one of ours.
Result<bool> take_ours(Address& address, const Option& option) {
  const std::string& value = option.value;
  if (option.name == "schema") {
    if (auto taken = take_schema(address, value); !taken) return forward(taken);
  } else if (option.name == "pool") {
    const auto number = number_in<std::size_t>(value, 1, pool_max);
    if (!number) return refuse(fmt::format("pool= is a number from 1 to {}", pool_max));
    address.pool = *number;
  } else if (option.name == "notify") {
    if (value != "on" && value != "off") return refuse("notify= is on or off");
    address.notify = value == "on";
  } else if (option.name == "partitions") {
    const auto number = number_in<int>(value, 0, partitions_max);
    if (!number) return refuse(fmt::format("partitions= is a number from 0 to {}", partitions_max));
    address.partitions = *number;
  } else if (option.name == "migrate") {
    if (value != "auto" && value != "verify") return refuse("migrate= is auto or verify");
    address.migrate = value == "auto" ? Migrate::automatic : Migrate::verify;
  } else {
    return false;
  }
  return true;
}

// libpq would say it too, but repeats what it does not know.
bool is_libpqs(std::string_view name) {
  if (name == "ssl") return true;
  const Options known(PQconndefaults());
  const PQconninfoOption* one = known.get();
  while (one != nullptr && one->keyword != nullptr && name != one->keyword) ++one;
  return one != nullptr && one->keyword != nullptr;
}

Result<Settings> read_settings(const std::string& location) {
  char* words = nullptr;
  const Options parsed(PQconninfoParse(location.c_str(), &words));
  const std::unique_ptr<char, decltype(&PQfreemem)> freed(words, PQfreemem);
  if (!parsed) {
    // Behind the first colon it quotes the location.
    const std::string_view why = words == nullptr ? "out of memory" : words;
    return refuse(
        fmt::format("libpq cannot read the location: {}", why.substr(0, why.find(": \""))));
  }
  Settings settings;
  for (const PQconninfoOption* one = parsed.get(); one->keyword != nullptr; ++one) {
    if (one->val != nullptr) settings.emplace(one->keyword, one->val);
  }
  return settings;
}

// libpq has no deadline for one host of several where none of its calls may block. So each host is an
// address of its own, and who connects goes from one to the next.
Result<std::vector<Host>> cut_hosts(Settings settings) {
  constexpr std::array<const char*, 3> names = {"host", "hostaddr", "port"};
  std::array<std::vector<std::string>, names.size()> lists;
  for (std::size_t n = 0; n < names.size(); ++n) {
    for (const auto item : std::views::split(settings[names[n]], ',')) {
      lists[n].emplace_back(item.begin(), item.end());
    }
    if (lists[n].empty()) settings.erase(names[n]);
  }
  const std::size_t count = std::max({lists[0].size(), lists[1].size(), std::size_t{1}});
  const bool fits = std::ranges::all_of(
      lists, [&](const auto& list) { return list.size() <= 1 || list.size() == count; });
  if (!fits) return refuse("the location names more ports than hosts, or fewer");
  for (const std::string& port : lists[2]) {
    if (!port.empty() && !number_in<int>(port, 1, 65'535)) {
      return refuse("a port of the location is not a number from 1 to 65535");
    }
  }
  if (count > 1) settings.try_emplace("target_session_attrs", "read-write");
  std::vector<Host> hosts(count, Host{settings});
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t n = 0; n < names.size(); ++n) {
      const auto& list = lists[n];
      if (!list.empty()) hosts[i].settings[names[n]] = list[list.size() == 1 ? 0 : i];
    }
  }
  return hosts;
}

Result<void> add_defaults(Address& address, Settings& settings) {
  for (const auto& [name, value] : defaults) settings.emplace(name, value);
  settings["client_encoding"] = "UTF8";
  const auto wait = settings.find("connect_timeout");
  if (wait == settings.end()) return {};
  const auto seconds = number_in<int>(wait->second, 1, 86'400);
  if (!seconds) return refuse("connect_timeout= is a number of seconds from 1 to 86400");
  address.connect_wait = std::chrono::seconds(*seconds);
  return {};
}

std::string without_password(std::string_view user) {
  const std::size_t colon = user.find(':');
  if (colon == std::string_view::npos) return std::string(user);
  return fmt::format("{}:***@", user.substr(0, colon));
}

}  // namespace

bool is_postgres(std::string_view location) {
  return std::ranges::any_of(schemes,
                             [&](std::string_view scheme) { return location.starts_with(scheme); });
}

Result<Address> parse_address(std::string_view location) {
  auto pieces = cut(location);
  if (!pieces) return forward(pieces);
  auto options = cut_options(pieces->options);
  if (!options) return forward(options);
  Address address;
  address.shown =
      fmt::format("{}{}{}", pieces->scheme, without_password(pieces->user), pieces->place);
  std::string theirs = fmt::format("{}{}{}?", pieces->scheme, pieces->user, pieces->place);
  std::set<std::string_view> seen;
  for (const Option& option : *options) {
    const bool is_secret = option.name.contains("pass");
    address.shown += &option == options->data() ? '?' : '&';
    address.shown += is_secret ? option.name + "=***" : std::string(option.written);
    auto taken = take_ours(address, option);
    if (!taken) return forward(taken);
    if (*taken && !seen.insert(option.name).second) {
      return refuse(fmt::format("the option {} is given twice", option.name));
    }
    if (!*taken && !is_libpqs(option.name)) {
      return refuse(fmt::format("neither Perdure nor libpq knows the option {}", option.name));
    }
    if (!*taken) theirs.append(option.written).append("&");
  }
  auto settings = read_settings(theirs);
  if (!settings) return forward(settings);
  if (auto added = add_defaults(address, *settings); !added) return forward(added);
  auto hosts = cut_hosts(std::move(*settings));
  if (!hosts) return forward(hosts);
  address.hosts = std::move(*hosts);
  return address;
}

}  // namespace perdure::postgres
