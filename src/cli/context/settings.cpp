// The order is: flag, environment, project, user, default. An unknown key is an error: a setting that
// is silently ignored is worse than none. What was found, and not named, is used only if no other user
// could have put it there, and else reported on stderr. The user's own settings are read first: they say
// whom to trust.

#include "context/settings.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <map>
#include <ostream>
#include <pwd.h>
#include <sstream>
#include <sys/stat.h>
#include <system_error>
#include <utility>

#include "core/api/descriptor.hpp"
#include "core/api/wording.hpp"
#include "screen/text.hpp"
#include "store/api/location.hpp"

namespace perdure::cli {
namespace {

namespace fs = std::filesystem;

std::string name_of(uid_t user) {
  const passwd* entry = ::getpwuid(user);  // NOLINT(concurrency-mt-unsafe): before any thread.
  return entry == nullptr ? fmt::format("user {}", user)
                          : fmt::format("{} (user {})", entry->pw_name, user);
}

std::string text_of(int file) {
  std::string text;
  std::array<char, 4096> room{};
  for (;;) {
    const ssize_t size = ::read(file, room.data(), room.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return text;
    text.append(room.data(), static_cast<std::size_t>(size));
  }
}

bool is_same_file(int one, int other) {
  struct stat here{};
  struct stat there{};
  return ::fstat(one, &here) == 0 && ::fstat(other, &there) == 0 && S_ISREG(here.st_mode) &&
         here.st_ino == there.st_ino && here.st_dev == there.st_dev;
}

// What is used of what was found rather than named: what belongs to us or to root, and no other user may
// write, or what is in a folder that the user trusts.
class Trust {
 public:
  /// `me`: whose files are ours. No exception is made for sudo: root obeys only root's files.
  explicit Trust(uid_t me) : me_(me) {}

  /// From now on the content of these folders is trusted, whatever its owner.
  void add(std::vector<fs::path> folders) {
    for (const fs::path& folder : folders) {
      std::error_code ignored;
      folders_.push_back(fs::weakly_canonical(folder, ignored));
    }
  }

  struct Found {
    fs::path path{};
    std::string
        objection{};     ///< Why it is not to be obeyed: "it belongs to eve"; empty: it may be.
    std::string text{};  ///< Of a file that may be read, and be obeyed.
  };
  /// `base`/`folder`/`name`. Empty: there is none.
  [[nodiscard]] std::optional<Found> find(const fs::path& base, std::string_view folder,
                                          std::string_view name) const {
    const Descriptor above(::open(base.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    const std::string part(folder);
    const Descriptor place(::openat(above.get(), part.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    const std::string last(name);
    const Descriptor itself(::openat(place.get(), last.c_str(), O_PATH | O_CLOEXEC));
    // Itself, should it be a link: where that leads was opened above.
    const Descriptor link(::openat(place.get(), last.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    const Descriptor to_place(::openat(above.get(), part.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!itself.is_open() || !link.is_open() || !to_place.is_open()) return std::nullopt;
    Found found{.path = base / folder / name};
    const bool is_ours = !is_trusted(base);
    const std::array parts = {
        std::pair(above.get(), base), std::pair(to_place.get(), base / folder),
        std::pair(place.get(), base / folder), std::pair(link.get(), found.path),
        std::pair(itself.get(), found.path)};
    for (const auto& [opened, path] : parts) {
      const Adding adding = opened == above.get() ? Adding::is_harmless : Adding::is_an_attack;
      if (is_ours && found.objection.empty()) found.objection = objection_to(opened, path, adding);
    }
    if (!found.objection.empty()) return found;
    const Descriptor file(::openat(place.get(), last.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    // The very file that was checked, whatever the path names by now.
    if (is_same_file(file.get(), itself.get())) found.text = text_of(file.get());
    return found;
  }

  /// Why a store's file, one beside it, or the folder that a link to it leads to, is not to be trusted;
  /// empty: all may be, or are not there.
  [[nodiscard]] std::string objection_to_store(const fs::path& file) const {
    if (is_trusted(file.parent_path())) return {};
    // SQLite has its other files beside the one that a link leads to.
    std::error_code ignored;
    const fs::path real = fs::weakly_canonical(file, ignored);
    std::vector<fs::path> paths{real.parent_path()};
    for (const fs::path& store : {file, real}) {
      for (const char* end : {"", "-wal", "-shm", "-journal", "-lock"})
        paths.emplace_back(store.string() + end);
    }
    for (const fs::path& path : paths) {
      for (const int links : {0, O_NOFOLLOW}) {
        const Descriptor opened(::open(path.c_str(), O_PATH | O_CLOEXEC | links));
        if (!opened.is_open()) continue;
        auto objection = objection_to(opened.get(), path, Adding::is_an_attack);
        if (!objection.empty()) return objection;
      }
    }
    return {};
  }

 private:
  /// Whether others may add files to a folder in which users cannot replace each other's.
  enum class Adding : std::uint8_t { is_harmless, is_an_attack };

  [[nodiscard]] std::string objection_to(int opened, const fs::path& path, Adding adding) const {
    struct stat status{};
    if (::fstat(opened, &status) != 0) return fmt::format("{} cannot be looked at", path.string());
    if (status.st_uid != me_ && status.st_uid != 0) {
      return fmt::format("{} belongs to {}", path.string(), name_of(status.st_uid));
    }
    if (S_ISLNK(status.st_mode)) return {};  // Everybody may "write" one: it cannot be changed.
    // In a folder like /tmp users cannot replace each other's files, but anyone can add some.
    const bool is_like_tmp = S_ISDIR(status.st_mode) && (status.st_mode & S_ISVTX) != 0;
    if (is_like_tmp && adding == Adding::is_harmless) return {};
    const bool is_our_group = status.st_gid == ::getegid() || status.st_gid == 0;
    const bool is_open = (status.st_mode & S_IWOTH) != 0;
    if (is_open || ((status.st_mode & S_IWGRP) != 0 && !is_our_group)) {
      return fmt::format("{} may be written by {}", path.string(),
                         is_open ? "everybody" : "a group that is not your own");
    }
    return {};
  }

  [[nodiscard]] bool is_trusted(const fs::path& path) const {
    std::error_code ignored;
    const fs::path whole = fs::weakly_canonical(path, ignored);
    return std::ranges::any_of(folders_, [&](const fs::path& folder) {
      return !folder.empty() &&
             std::mismatch(folder.begin(), folder.end(), whole.begin(), whole.end()).first ==
                 folder.end();
    });
  }

  uid_t me_;
  std::vector<fs::path> folders_;
};

constexpr std::array<std::string_view, 2> setting_keys = {"store", "color"};
constexpr std::string_view trusted_key = "trusted_folders";
using Values = std::map<std::string, Setting, std::less<>>;

struct Line {
  int number = 0;
  std::string key{};
  std::string value{};
};

// A comment begins a line, or follows a blank: a path may have the character in it.
std::string_view without_comment(std::string_view line) {
  for (std::size_t at = line.find('#'); at != std::string_view::npos; at = line.find('#', at + 1)) {
    if (at == 0 || line[at - 1] == ' ' || line[at - 1] == '\t') return line.substr(0, at);
  }
  return line;
}

Result<std::vector<Line>> lines_of(const std::string& text, const fs::path& path, bool is_own) {
  std::vector<Line> lines;
  std::istringstream file(text);
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    const std::string_view words = trimmed(without_comment(line));
    if (words.empty()) continue;
    const auto equals = words.find('=');
    const std::string key(trimmed(words.substr(0, equals)));
    const bool is_key =
        std::ranges::find(setting_keys, key) != setting_keys.end() || key == trusted_key;
    if (equals == std::string_view::npos || !is_key) {
      return misuse(fmt::format("{}:{}: wanted a line `key = value` with one of the keys {}, {}",
                                path.string(), number, fmt::join(setting_keys, ", "), trusted_key));
    }
    if (key == trusted_key && !is_own) {
      return misuse(fmt::format("{}:{}: {} counts only in your own settings file", path.string(),
                                number, trusted_key));
    }
    lines.push_back({number, key, std::string(trimmed(words.substr(equals + 1)))});
  }
  return lines;
}

// Values of the file, for keys that have no closer setting. `base`: what paths are relative to.
Result<void> add_lines(Values& values, std::vector<Line> lines, const fs::path& path,
                       const fs::path& base) {
  for (Line& line : lines) {
    if (line.key == trusted_key) continue;
    if (line.key == "store") {
      const std::string line_of = fmt::format("{}:{}: store", path.string(), line.number);
      if (auto named = check_named(line.value, line_of); !named) return named;
      line.value = location_from(line.value, base.string());
    }
    values.try_emplace(line.key, Setting{line.key, std::move(line.value), path.string()});
  }
  return {};
}

// Separated by colons; `~` is the home folder.
Result<std::vector<fs::path>> folders_in(const Trust::Found& own, const std::vector<Line>& lines,
                                         const ProcessIo& io) {
  std::vector<fs::path> folders;
  for (const Line& line : lines) {
    if (line.key != trusted_key) continue;
    std::istringstream words(line.value);
    for (std::string word; std::getline(words, word, ':');) {
      std::string folder(trimmed(word));
      if (folder.empty()) continue;
      const auto home = io.environment("HOME");
      if (home && (folder == "~" || folder.starts_with("~/"))) folder.replace(0, 1, *home);
      if (!folder.starts_with('/')) {
        return misuse(
            fmt::format("{}:{}: {} takes whole paths, separated by colons, and {} is none",
                        own.path.string(), line.number, trusted_key, trimmed(word)));
      }
      folders.emplace_back(std::move(folder));
    }
  }
  return folders;
}

// What the nearest .perdure has that has it, of those that may be obeyed; the others are named.
std::optional<Trust::Found> find_in_project(ProcessIo& io, const Trust& trust, const fs::path& mine,
                                            std::string_view name) {
  for (fs::path at = io.folder; !at.empty(); at = at.parent_path()) {
    auto found = trust.find(at, ".perdure", name);
    if (found && found->objection.empty() && name == "store") {
      found->objection = trust.objection_to_store(location_from(found->path.string(), io.folder));
    }
    if (found && found->objection.empty()) return found;
    if (found) {
      io.err
          << visible(fmt::format(
                 "perdure: {} is ignored: {}. If you trust that folder, add the line {} = {} to {}",
                 found->path.string(), found->objection, trusted_key, at.string(),
                 (mine / "config").string()))
          << '\n';
    }
    if (at == at.root_path()) break;
  }
  return std::nullopt;
}

// A folder of the user, and whether a variable names it. One that is not an absolute path is passed
// over, as the specification of these variables asks.
struct UserFolder {
  fs::path path{};
  bool is_named = false;
};

UserFolder user_folder(const ProcessIo& io, const std::string& variable,
                       const std::string& beneath_home) {
  const auto named = io.environment(variable);
  if (named && named->starts_with('/')) return {fs::path(*named) / "perdure", true};
  return {fs::path(io.environment("HOME").value_or("/")) / beneath_home / "perdure"};
}

// One's own settings file. Where a variable names its folder, it is obeyed whatever its owner; else
// it was found, in a home folder that sudo may have left to be another's.
Trust::Found own_file(const Trust& trust, const UserFolder& mine) {
  Trust::Found own{.path = mine.path / "config"};
  if (!mine.is_named) {
    return trust.find(mine.path.parent_path(), mine.path.filename().string(), "config")
        .value_or(own);
  }
  std::ifstream file(own.path);
  own.text.assign(std::istreambuf_iterator<char>(file), {});
  return own;
}

// The usual store: found, where no variable names its folder. There is none to take its place.
Setting usual_store(const ProcessIo& io, const Trust& trust) {
  const UserFolder data = user_folder(io, "XDG_DATA_HOME", ".local/share");
  Setting usual{"store", (data.path / "store.db").string(), "default"};
  if (data.is_named) return usual;
  const auto found = trust.find(data.path.parent_path(), data.path.filename().string(), "store.db");
  if (found) usual.objection = found->objection;
  if (found && found->objection.empty()) usual.objection = trust.objection_to_store(usual.value);
  return usual;
}

}  // namespace

Result<void> check_named(const std::string& place, const std::string& what) {
  if (!place.empty() && place != "sqlite:") return {};
  return misuse(fmt::format("{} names no store: give a path, or postgres://…", what));
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

// Others see what a program was started with.
Result<void> check_typed(const std::string& place, const std::string& what) {
  if (auto named = check_named(place, what); !named) return named;
  if (!is_address(place) || !shown_location(place).contains("***")) return {};
  return misuse(
      fmt::format("{} has a password in it, which everybody on this machine can read from the list "
                  "of processes: leave it out, and give it in ~/.pgpass (or the file that "
                  "PGPASSFILE names), in PGPASSWORD or in a service file. PERDURE_STORE and "
                  "settings files may hold the whole address",
                  what));
}

Result<std::vector<Setting>> read_settings(ProcessIo& io, const Invocation& given) {
  Values values;
  for (const std::string_view key : setting_keys) {
    const std::string name(key);
    const auto flag = given.find(key);
    const std::string variable = key == "store" ? "PERDURE_STORE" : "PERDURE_COLOR";
    const auto said = io.environment(variable);
    const bool is_said = said && !said->empty();
    if (!flag && !is_said) continue;
    std::string value = flag ? *flag : *said;
    if (key == "store") {
      auto named = flag ? check_typed(value, "--store") : check_named(value, variable);
      if (!named) return forward(named);
      value = location_from(value, io.folder);
    }
    values.try_emplace(name, Setting{name, value, flag ? "--" + name : variable});
  }
  const UserFolder mine = user_folder(io, "XDG_CONFIG_HOME", ".config");
  Trust trust(io.user_id);
  const Trust::Found own = own_file(trust, mine);
  if (!own.objection.empty()) {
    io.err << visible(fmt::format("perdure: {} is ignored: {}", own.path.string(), own.objection))
           << '\n';
  }
  auto own_lines = lines_of(own.text, own.path, true);
  if (!own_lines) return forward(own_lines);
  auto folders = folders_in(own, *own_lines, io);
  if (!folders) return forward(folders);
  trust.add(*std::move(folders));
  if (const auto file = find_in_project(io, trust, mine.path, "config")) {
    auto lines = lines_of(file->text, file->path, false);
    if (!lines) return forward(lines);
    auto added =
        add_lines(values, *std::move(lines), file->path, file->path.parent_path().parent_path());
    if (!added) return forward(added);
  }
  if (auto added = add_lines(values, *std::move(own_lines), own.path, mine.path); !added) {
    return forward(added);
  }
  // With a store named explicitly, the project's own is not looked for.
  if (!values.contains("store")) {
    if (const auto store = find_in_project(io, trust, mine.path, "store")) {
      const std::string path = store->path.string();
      values.try_emplace("store", Setting{"store", location_from(path, io.folder), path});
    }
  }
  if (!values.contains("store")) values.try_emplace("store", usual_store(io, trust));
  values.try_emplace("color", Setting{"color", "auto", "default"});
  std::vector<Setting> settings;
  settings.reserve(setting_keys.size());
  for (const std::string_view key : setting_keys) settings.push_back(values.at(std::string(key)));
  return settings;
}

}  // namespace perdure::cli
