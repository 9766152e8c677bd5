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
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"

namespace perdure::postgres {
namespace {

constexpr std::array<std::string_view, 2> schemes = {"postgres://", "postgresql://"};
constexpr std::size_t identifier_bytes_max = 63;
constexpr std::size_t pool_max = 1'000;
constexpr int partitions_max = 1'024;

// A server that is gone without a word is noticed within a minute, not after two hours.
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
using Settings = std::vector<std::pair<std::string, std::string>>;

std::unexpected<Error> refuse(std::string message) {
  return fail(ErrorCode::invalid_argument, std::move(message));
}

/// The pieces of a location, each as it was written.
struct Pieces {
  std::string_view scheme;
  std::string_view user;     ///< With its password.
  bool has_user;             ///< Also an empty one: there was an `@`.
  std::string_view place;    ///< Hosts and database.
  std::string_view options;  ///< Behind the `?`.
};

Result<Pieces> cut(std::string_view location) {
  const auto* scheme = std::ranges::find_if(
      schemes, [&](std::string_view text) { return location.starts_with(text); });
  if (scheme == schemes.end()) return refuse("a PostgreSQL location begins with postgres://");
  if (location.find('\0') != std::string_view::npos) return refuse("a location holds no NUL");
  Pieces pieces{.scheme = *scheme, .user = {}, .has_user = false, .place = {}, .options = {}};
  std::string_view rest = location.substr(scheme->size());
  const std::size_t at = rest.find_first_of("@/");
  if (at != std::string_view::npos && rest[at] == '@') {
    pieces.user = rest.substr(0, at);
    pieces.has_user = true;
    rest.remove_prefix(at + 1);
  }
  const std::size_t question = rest.find('?');
  pieces.place = rest.substr(0, question);
  if (question != std::string_view::npos) pieces.options = rest.substr(question + 1);
  if (pieces.place.find('@') != std::string_view::npos) {
    return refuse(
        "there is an @ behind the user's part of the location. In a password or a name write "
        "@ as %40, / as %2F, : as %3A, ? as %3F and % as %25.");
  }
  return pieces;
}

int hex_digit(char letter) {
  if (letter >= '0' && letter <= '9') return letter - '0';
  if (letter >= 'a' && letter <= 'f') return letter - 'a' + 10;
  if (letter >= 'A' && letter <= 'F') return letter - 'A' + 10;
  return -1;
}

std::optional<std::string> decoded(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      plain += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const int high = hex_digit(text[i + 1]);
    const int low = hex_digit(text[i + 2]);
    if (high < 0 || low < 0 || (high == 0 && low == 0)) return std::nullopt;
    plain += static_cast<char>(high * 16 + low);
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

bool is_secret(std::string_view name) { return name.find("pass") != std::string_view::npos; }

std::string show(const Pieces& pieces, const std::vector<Option>& options) {
  std::string text(pieces.scheme);
  const std::size_t colon = pieces.user.find(':');
  text += pieces.user.substr(0, colon);
  if (colon != std::string_view::npos) text += ":***";
  if (pieces.has_user) text += '@';
  text += pieces.place;
  char before = '?';
  for (const Option& option : options) {
    text += before;
    before = '&';
    text += is_secret(option.name) ? option.name + "=***" : std::string(option.written);
  }
  return text;
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
  if (value.find_first_of("'$\\") != std::string::npos ||
      value.find("perdure.") != std::string::npos) {
    return refuse("schema= is a name without ', $, \\ and `perdure.` in it: choose another");
  }
  address.schema = value;
  return {};
}

Result<void> take_pool(Address& address, const std::string& value) {
  const auto number = number_in<std::size_t>(value, 1, pool_max);
  if (!number) return refuse(fmt::format("pool= is a number from 1 to {}", pool_max));
  address.pool = *number;
  return {};
}

Result<void> take_notify(Address& address, const std::string& value) {
  if (value != "on" && value != "off") return refuse("notify= is on or off");
  address.notify = value == "on";
  return {};
}

Result<void> take_partitions(Address& address, const std::string& value) {
  const auto number = number_in<int>(value, 0, partitions_max);
  if (!number) return refuse(fmt::format("partitions= is a number from 0 to {}", partitions_max));
  address.partitions = *number;
  return {};
}

Result<void> take_migrate(Address& address, const std::string& value) {
  if (value != "auto" && value != "verify") return refuse("migrate= is auto or verify");
  address.migrate = value == "auto" ? Migrate::automatic : Migrate::verify;
  return {};
}

struct Ours {
  std::string_view name;
  Result<void> (*take)(Address&, const std::string&);
};
constexpr std::array ours = {
    Ours{"schema", take_schema},         Ours{"pool", take_pool},       Ours{"notify", take_notify},
    Ours{"partitions", take_partitions}, Ours{"migrate", take_migrate},
};

const Ours* find_ours(std::string_view name) {
  const auto* found = std::ranges::find(ours, name, &Ours::name);
  return found == ours.end() ? nullptr : found;
}

Result<void> take_ours(Address& address, const std::vector<Option>& options) {
  std::vector<std::string_view> seen;
  for (const Option& option : options) {
    const Ours* known = find_ours(option.name);
    if (known == nullptr) continue;
    if (std::ranges::find(seen, option.name) != seen.end()) {
      return refuse(fmt::format("the option {} is given twice", option.name));
    }
    seen.emplace_back(option.name);
    if (auto taken = known->take(address, option.value); !taken) return taken;
  }
  return {};
}

// libpq would say it too, but repeats what it does not know.
Result<void> check_theirs(const std::vector<Option>& options) {
  const Options known(PQconndefaults());
  if (!known) return fail(ErrorCode::unavailable, "out of memory");
  for (const Option& option : options) {
    bool is_known = find_ours(option.name) != nullptr || option.name == "ssl";
    for (const PQconninfoOption* one = known.get(); one->keyword != nullptr; ++one) {
      is_known = is_known || option.name == one->keyword;
    }
    if (!is_known) {
      return refuse(fmt::format("neither Perdure nor libpq knows the option {}", option.name));
    }
  }
  return {};
}

/// What libpq makes of the rest.
Result<Settings> read_settings(const Pieces& pieces, const std::vector<Option>& options) {
  std::string rest(pieces.scheme);
  rest += pieces.user;
  if (pieces.has_user) rest += '@';
  rest += pieces.place;
  char before = '?';
  for (const Option& option : options) {
    if (find_ours(option.name) != nullptr) continue;
    rest += before;
    rest += option.written;
    before = '&';
  }
  char* words = nullptr;
  const Options parsed(PQconninfoParse(rest.c_str(), &words));
  const std::unique_ptr<char, decltype(&PQfreemem)> freed(words, PQfreemem);
  if (!parsed) {
    // Behind the first colon it quotes the location.
    const std::string_view why = words == nullptr ? "out of memory" : words;
    return refuse(
        fmt::format("libpq cannot read the location: {}", why.substr(0, why.find(": \""))));
  }
  Settings settings;
  for (const PQconninfoOption* one = parsed.get(); one->keyword != nullptr; ++one) {
    if (one->val != nullptr) settings.emplace_back(one->keyword, one->val);
  }
  return settings;
}

std::string* find_setting(Settings& settings, std::string_view name) {
  const auto found = std::ranges::find(settings, name, &Settings::value_type::first);
  return found == settings.end() ? nullptr : &found->second;
}

std::vector<std::string> cut_list(const std::string* list) {
  std::vector<std::string> items;
  if (list == nullptr) return items;
  std::string_view rest = *list;
  for (;;) {
    const std::size_t comma = rest.find(',');
    items.emplace_back(rest.substr(0, comma));
    if (comma == std::string_view::npos) return items;
    rest.remove_prefix(comma + 1);
  }
}

void set_item(Settings& settings, std::string_view name, const std::vector<std::string>& items,
              std::size_t index) {
  std::string* value = find_setting(settings, name);
  if (value != nullptr) *value = items.size() == 1 ? items.front() : items[index];
}

// libpq has no deadline for one host of several, when nobody blocks in it. So each host is an
// address of its own, and whoever connects goes from one to the next.
Result<std::vector<Host>> cut_hosts(Settings settings) {
  const auto names = cut_list(find_setting(settings, "host"));
  const auto numbers = cut_list(find_setting(settings, "hostaddr"));
  const auto ports = cut_list(find_setting(settings, "port"));
  const std::size_t count = std::max({names.size(), numbers.size(), std::size_t{1}});
  const auto fits = [&](const auto& list) { return list.size() <= 1 || list.size() == count; };
  if (!fits(names) || !fits(numbers) || !fits(ports)) {
    return refuse("the location names more ports than hosts, or fewer");
  }
  for (const std::string& port : ports) {
    if (!port.empty() && !number_in<int>(port, 1, 65'535)) {
      return refuse("a port of the location is not a number from 1 to 65535");
    }
  }
  if (count > 1 && find_setting(settings, "target_session_attrs") == nullptr) {
    settings.emplace_back("target_session_attrs", "read-write");
  }
  std::vector<Host> hosts(count, Host{settings});
  for (std::size_t i = 0; i < count; ++i) {
    set_item(hosts[i].settings, "host", names, i);
    set_item(hosts[i].settings, "hostaddr", numbers, i);
    set_item(hosts[i].settings, "port", ports, i);
  }
  return hosts;
}

Result<void> add_defaults(Address& address, Settings& settings) {
  for (const auto& [name, value] : defaults) {
    if (find_setting(settings, name) == nullptr) settings.emplace_back(name, value);
  }
  if (std::string* encoding = find_setting(settings, "client_encoding")) {
    *encoding = "UTF8";
  } else {
    settings.emplace_back("client_encoding", "UTF8");
  }
  const std::string* wait = find_setting(settings, "connect_timeout");
  if (wait == nullptr) return {};
  const auto seconds = number_in<int>(*wait, 1, 86'400);
  if (!seconds) return refuse("connect_timeout= is a number of seconds from 1 to 86400");
  address.connect_wait = std::chrono::seconds(*seconds);
  return {};
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
  address.shown = show(*pieces, *options);
  if (auto taken = take_ours(address, *options); !taken) return forward(taken);
  if (auto checked = check_theirs(*options); !checked) return forward(checked);
  auto settings = read_settings(*pieces, *options);
  if (!settings) return forward(settings);
  if (auto added = add_defaults(address, *settings); !added) return forward(added);
  auto hosts = cut_hosts(std::move(*settings));
  if (!hosts) return forward(hosts);
  address.hosts = std::move(*hosts);
  return address;
}

}  // namespace perdure::postgres
