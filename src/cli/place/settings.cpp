// The order is: flag, environment, project, user, default. An unknown key is an error: a setting that
// is silently not obeyed is worse than none.

#include "place/settings.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "command/command.hpp"
#include "perdure/core/error.hpp"
#include "perdure/store/location.hpp"
#include "world.hpp"

namespace perdure::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 2> setting_keys = {"store", "color"};
using Values = std::map<std::string, Setting, std::less<>>;

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// Values of the file, for keys that nobody closer has set. `base`: what paths are relative to.
Result<void> add_file(Values& values, const fs::path& path, const fs::path& base) {
  std::ifstream file(path);
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    const std::string_view text = trimmed(std::string_view(line).substr(0, line.find('#')));
    if (text.empty()) continue;
    const auto equals = text.find('=');
    const std::string key(trimmed(text.substr(0, equals)));
    if (equals == std::string_view::npos ||
        std::ranges::find(setting_keys, key) == setting_keys.end()) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("{}:{}: wanted a line `key = value` with one of the keys {}",
                              path.string(), number, fmt::join(setting_keys, ", ")));
    }
    std::string value(trimmed(text.substr(equals + 1)));
    if (key == "store") {
      const std::string line_of = fmt::format("{}:{}: store", path.string(), number);
      if (auto named = check_named(value, line_of); !named) return named;
      value = location_from(value, base.string());
    }
    values.try_emplace(key, Setting{key, std::move(value), path.string()});
  }
  return {};
}

// What the nearest .perdure has that has it.
std::optional<fs::path> find_in_project(const std::string& folder, std::string_view name) {
  std::error_code ignored;
  for (fs::path at = folder; !at.empty(); at = at.parent_path()) {
    fs::path file = at / ".perdure" / name;
    if (fs::exists(file, ignored)) return file;
    if (at == at.root_path()) break;
  }
  return std::nullopt;
}

// $XDG_CONFIG_HOME/perdure, or what it stands for. One that is no whole path is passed over, as the
// specification of these variables asks.
fs::path user_folder(const World& world, const std::string& variable,
                     const std::string& beneath_home) {
  const auto named = world.environment(variable);
  if (named && named->starts_with('/')) return fs::path(*named) / "perdure";
  return fs::path(world.environment("HOME").value_or("/")) / beneath_home / "perdure";
}

}  // namespace

Result<void> check_named(const std::string& place, const std::string& what) {
  if (!place.empty() && place != "sqlite:") return {};
  return fail(ErrorCode::invalid_argument,
              fmt::format("{} names no store: give a path, or postgres://…", what));
}

std::string location_from(const std::string& place, const std::string& base) {
  if (place == "memory:" || is_address(place)) return place;
  const bool has_scheme = place.starts_with("sqlite:");
  fs::path path = has_scheme ? place.substr(7) : place;
  if (path.is_relative()) path = fs::path(base) / path;
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) path /= "store.db";
  return path.lexically_normal().string();
}

Result<std::vector<Setting>> read_settings(const World& world, const Invocation& given) {
  Values values;
  for (const std::string_view key : setting_keys) {
    const std::string name(key);
    const auto flag = given.find(key);
    const std::string variable = key == "store" ? "PERDURE_STORE" : "PERDURE_COLOR";
    const auto said = world.environment(variable);
    const bool is_said = said && !said->empty();
    if (!flag && !is_said) continue;
    std::string value = flag ? *flag : *said;
    if (key == "store") {
      if (auto named = check_named(value, flag ? "--store" : variable); !named)
        return forward(named);
      value = location_from(value, world.folder);
    }
    values.try_emplace(name, Setting{name, value, flag ? "--" + name : variable});
  }
  if (const auto file = find_in_project(world.folder, "config")) {
    auto added = add_file(values, *file, file->parent_path().parent_path());
    if (!added) return forward(added);
  }
  const fs::path mine = user_folder(world, "XDG_CONFIG_HOME", ".config");
  if (auto added = add_file(values, mine / "config", mine); !added) return forward(added);
  if (const auto store = find_in_project(world.folder, "store")) {
    const std::string path = store->string();
    values.try_emplace("store", Setting{"store", location_from(path, world.folder), path});
  }
  const fs::path data = user_folder(world, "XDG_DATA_HOME", ".local/share");
  values.try_emplace("store", Setting{"store", (data / "store.db").string(), "default"});
  values.try_emplace("color", Setting{"color", "auto", "default"});
  std::vector<Setting> settings;
  settings.reserve(setting_keys.size());
  for (const std::string_view key : setting_keys) settings.push_back(values.at(std::string(key)));
  return settings;
}

}  // namespace perdure::cli
