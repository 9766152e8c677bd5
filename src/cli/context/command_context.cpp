// Opening is left to the verb: help and version need no store, and must not wait for one.

#include "context/command_context.hpp"

#include <algorithm>
#include <cstddef>
#include <expected>
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include "screen/display.hpp"
#include "screen/progress.hpp"
#include "screen/text.hpp"
#include "store/api/location.hpp"

namespace perdure::cli {
namespace {

// What answers does so sooner; from here on people wonder.
constexpr Duration quiet_wait{1'000};

std::string value_of(const std::vector<Setting>& settings, std::string_view key) {
  return std::ranges::find(settings, key, &Setting::key)->value;
}

bool is_set(const ProcessIo& io, const std::string& name) {
  const auto value = io.environment(name);
  return value && !value->empty();
}

// A terminal that does not say what it is gets nothing that it might show as letters.
bool takes_escapes(const ProcessIo& io) {
  return is_set(io, "TERM") && io.environment("TERM") != "dumb";
}

bool wants_colour(const ProcessIo& io, const std::string& choice, bool is_terminal) {
  if (choice != "auto") return choice == "always";
  if (is_set(io, "NO_COLOR")) return false;
  if (is_set(io, "CLICOLOR_FORCE") && io.environment("CLICOLOR_FORCE") != "0") return true;
  return is_terminal && takes_escapes(io);
}

// A terminal that says it has less is not believed.
std::size_t usable(int columns) { return static_cast<std::size_t>(std::max(columns, 20)); }

Screen::Traits traits_of(const ProcessIo& io, const std::string& colour, bool is_terminal) {
  return {.is_terminal = is_terminal,
          .has_colour = wants_colour(io, colour, is_terminal),
          .columns = usable(io.columns),
          .takes_escapes = takes_escapes(io)};
}

Screen::Traits talk_of(const ProcessIo& io, const Invocation& given, const std::string& colour) {
  Screen::Traits traits = traits_of(io, colour, io.is_err_terminal);
  traits.is_silent = given.has("quiet");
  return traits;
}

Form form_of(const Invocation& given) {
  if (given.has("jsonl")) return Form::jsonl;
  return given.has("json") ? Form::json : Form::people;
}

// What this user may not do is no damage and no bad luck. Whoever opens a store writes, if only to
// its lock file.
bool is_forbidden(const std::string& location, bool makes) {
  const std::filesystem::path file = location;
  const std::filesystem::path folder = file.parent_path();
  std::error_code why;
  const bool is_there = std::filesystem::exists(file, why);
  if (why == std::errc::permission_denied) return true;
  std::error_code ignored;
  if (is_there && ::access(file.c_str(), R_OK | W_OK) != 0) return true;
  return (is_there || makes) && std::filesystem::exists(folder, ignored) &&
         ::access(folder.c_str(), W_OK) != 0;
}

// Of a path; where its folder is not there either, nobody has used a store yet.
bool is_missing(const std::string& location) {
  std::error_code ignored;
  return location.starts_with('/') && !std::filesystem::exists(location, ignored);
}

// Where a subject says what else is missing, the words do too. What is left of a store that was
// there is damage.
bool means_no_store(const Error& why, const std::string& location, bool makes) {
  if (why.code == ErrorCode::not_found) return why.subject.empty();
  return why.code != ErrorCode::corrupted && !makes && is_missing(location);
}

std::unexpected<Error> no_store(const std::string& location) {
  return fail(ErrorCode::not_found,
              fmt::format("there is no store at {}: perdure run makes one, --store names another",
                          shown_location(location)));
}

}  // namespace

CommandContext::CommandContext(ProcessIo& io, Invocation given, std::vector<Setting> settings,
                               std::vector<std::string> fields)
    : io_(io),
      given_(std::move(given)),
      settings_(std::move(settings)),
      screen_(io.out, traits_of(io, value_of(settings_, "color"), io.is_out_terminal)),
      talk_(io.err, talk_of(io, given_, value_of(settings_, "color"))),
      output_(screen_, form_of(given_), std::move(fields)) {}

const std::string& CommandContext::location() const {
  return std::ranges::find(settings_, "store", &Setting::key)->value;
}

std::string CommandContext::command(std::string_view words) const {
  std::string text = fmt::format("perdure {}", words);
  if (const auto place = given_.find("store")) {
    text += " --store " + shell_word(shown_location(*place));
  }
  return text;
}

Result<void> CommandContext::check_trusted() const {
  const Setting& place = *std::ranges::find(settings_, "store", &Setting::key);
  if (place.objection.empty()) return {};
  return fail(ErrorCode::unavailable,
              fmt::format("the store {} is not opened: {}. To use it all the same, name it: "
                          "--store {}",
                          place.value, place.objection, shell_word(place.value)),
              "authority");
}

Result<Store*> CommandContext::open() { return open(false); }
Result<Store*> CommandContext::open_or_make() { return open(true); }

Result<Store*> CommandContext::open(bool makes) {
  if (store_ != nullptr) return store_.get();
  if (auto trusted = check_trusted(); !trusted) return forward(trusted);
  if (is_forbidden(location(), makes)) {
    return fail(ErrorCode::unavailable,
                fmt::format("{} may not be read and written by you, or its folder may not: look at "
                            "their permissions",
                            shown_location(location())),
                "authority");
  }
  if (makes && std::filesystem::path(location()).is_absolute()) {
    std::error_code ignored;
    std::filesystem::create_directories(std::filesystem::path(location()).parent_path(), ignored);
  }
  std::optional<WaitNotice> notice;
  if (is_address(location())) {
    notice.emplace(talk_, fmt::format("Waiting for {} …", shown_location(location())), quiet_wait);
  } else if (io_.is_err_terminal) {
    notice.emplace(talk_,
                   fmt::format("Waiting for {}, which another program keeps locked …", location()),
                   quiet_wait);
  }
  auto store = open_store(location(), {.create = makes, .clock = io_.clock, .ids = io_.ids});
  notice.reset();
  if (!store && means_no_store(store.error(), location(), makes)) return no_store(location());
  if (!store) return forward(store);
  store_ = *std::move(store);
  return store_.get();
}

Result<Runtime*> CommandContext::worker() {
  if (worker_ != nullptr) return worker_.get();
  auto store = open();
  if (!store) return forward(store);
  auto made = Runtime::start(**store, {.clock = io_.clock, .ids = io_.ids});
  if (!made) return forward(made);
  worker_ = *std::move(made);
  return worker_.get();
}

std::string CommandContext::when(Timestamp time) const {
  return is_terminal() ? relative(time, io_.clock->now()) : to_iso8601(time);
}

bool CommandContext::follows_resize() {
  if (!io_.measure_columns) return false;
  const std::size_t now = usable(io_.measure_columns());
  if (now == screen_.columns()) return false;
  screen_.resize(now);
  return true;
}

std::string CommandContext::short_id(const std::string& id) const {
  return shown_id(id, is_terminal());
}

Screen CommandContext::question() const {
  return {io_.err, traits_of(io_, value_of(settings_, "color"), io_.is_err_terminal)};
}

bool CommandContext::confirms(const std::string& text) {
  if (given_.has("yes")) return true;
  asked_ = text;
  Screen asking = question();
  if (!io_.is_in_terminal || !io_.is_err_terminal || !io_.ask_line) {
    if (output_.is_json()) return false;  // Told as an error, as JSON.
    asking.line(text);
    asking.line("Not a terminal, so it cannot be confirmed: pass --yes.");
    return false;
  }
  asking.bytes(visible(text) + " [y/N] ");
  asking.flush();
  const std::string answer = io_.ask_line().value_or("");
  return answer == "y" || answer == "yes";
}

}  // namespace perdure::cli
