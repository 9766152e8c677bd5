// Opening is left to the verb: help and version need no store, and must not wait for one. A number is all
// digits; a text is read whole, unless it has no end. A word with the suffix of an agent file means one, so
// that a mistake in its name is reported as such.

#include "context/command_context.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <ios>
#include <istream>
#include <ostream>
#include <stdlib.h>
#include <system_error>
#include <unistd.h>

#include "core/api/text.hpp"
#include "runtime/api/state_details.hpp"
#include "store/api/limits.hpp"
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

Form form_of(const Invocation& given) {
  if (given.has("jsonl")) return Form::jsonl;
  return given.has("json") ? Form::json : Form::people;
}

Screen::Traits traits_of(const ProcessIo& io, const std::vector<Setting>& settings,
                         bool is_terminal, bool is_silent = false) {
  return {.is_terminal = is_terminal,
          .has_colour = wants_colour(io, value_of(settings, "color"), is_terminal),
          .columns = usable(io.columns),
          .is_silent = is_silent,
          .takes_escapes = takes_escapes(io)};
}

// A missing permission is neither damage nor an outage. Opening a store always writes, if only to
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

// Of a path; where its folder is not there either, no store was used yet.
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

Result<std::string> read_text(std::istream& from, const std::string& name) {
  std::string text;
  std::array<char, std::size_t{1} << 16U> room{};
  while (from.read(room.data(), room.size()), from.gcount() > 0) {
    text.append(room.data(), static_cast<std::size_t>(from.gcount()));
    if (text.size() <= body_bytes_max) continue;
    return misuse(
        fmt::format("{} has more than {} MiB, which is the most that a session keeps as "
                    "one text",
                    name, body_bytes_max >> 20U));
  }
  return text;
}

// Piece by piece: it may be larger than memory. True if all of it arrived.
bool carry(std::istream& from, std::ostream& to) {
  std::array<char, 1U << 16U> piece{};
  while (from.read(piece.data(), piece.size()) || from.gcount() > 0) {
    if (!to.write(piece.data(), from.gcount())) return false;
  }
  return from.eof() && to.flush();
}

}  // namespace

CommandContext::CommandContext(ProcessIo& io, Invocation given, std::vector<Setting> settings,
                               std::vector<std::string> fields)
    : io_(io),
      given_(std::move(given)),
      settings_(std::move(settings)),
      screen_(io.out,
              traits_of(io, settings_, io.is_out_terminal, form_of(given_) != Form::people)),
      talk_(io.err, traits_of(io, settings_, io.is_err_terminal, given_.has("quiet"))),
      no_screen_(io.err, {.is_silent = true}),
      output_(io.out, form_of(given_), std::move(fields)) {}

void CommandContext::advise_next(const std::string& command) {
  advice().line({{"Next: ", Ink::dim}, {command}});
}

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
  auto store = open_at(location(), makes);
  notice.reset();
  if (!store && means_no_store(store.error(), location(), makes)) return no_store(location());
  if (!store) return forward(store);
  store_ = *std::move(store);
  return store_.get();
}

Result<std::unique_ptr<Store>> CommandContext::open_at(const std::string& location, bool makes) {
  return open_store(location, {.create = makes, .clock = io_.clock, .ids = io_.ids});
}

// In memory, sessions would be gone when the command ends.
Result<std::string> CommandContext::other_location() const {
  const std::string& place = given_.arguments.front();
  if (auto named = check_typed(place, "PLACE"); !named) return forward(named);
  if (place == "memory:") {
    return misuse(
        "memory: is gone when this command ends, and the sessions with it: give a path, or "
        "postgres://…");
  }
  std::string other = location_from(place, io_.folder);
  if (other != location()) return other;
  return misuse("both are the same store; perdure fork makes a copy within one");
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
  return {io_.err, traits_of(io_, settings_, io_.is_err_terminal)};
}

bool CommandContext::confirms(const std::string& text) {
  if (given_.has("yes")) return true;
  asked_ = text;
  Screen asking = question();
  if (!can_ask() || !io_.ask_line) {
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

std::int64_t number_option(const Invocation& given, std::string_view name, std::int64_t otherwise) {
  return number_from(given.find(name).value_or("")).value_or(otherwise);
}

Result<std::string> text_or_file(const std::string& value, const std::string& folder) {
  if (!value.starts_with('@')) return value;
  const std::filesystem::path path = std::filesystem::path(folder) / value.substr(1);
  std::ifstream file(path, std::ios::binary);
  std::error_code ignored;  // A pipe is as good as a file, a folder is not.
  if (!file || std::filesystem::is_directory(path, ignored)) {
    return fail(ErrorCode::not_found, fmt::format("{} cannot be read", path.string()));
  }
  return read_text(file, path.string());
}

Result<std::string> text_of_stdin(const ProcessIo& io) {
  return io.in == nullptr ? "" : read_text(*io.in, "stdin");
}

Result<std::string> text_of_word(const std::string& value, const ProcessIo& io) {
  return value == "-" ? text_of_stdin(io) : text_or_file(value, io.folder);
}

Exit exit_by(const SignalWatch& signals) {
  return signals.caught() == SIGTERM ? Exit::terminated : Exit::interrupted;
}

Result<Exit> exit_by(const SignalWatch& signals, const Error& error) {
  const bool had_to_wait = error.code == ErrorCode::lease_held || error.subject == "agent_changed";
  if (had_to_wait && signals.caught() != 0) return exit_by(signals);
  return std::unexpected(error);
}

RunVerb on_store(StoreVerb run) {
  return {.run = [run = std::move(run)](CommandContext& context) -> Result<Exit> {
            auto store = context.open();
            if (!store) return forward(store);
            return run(context, **store);
          },
          .opens_store = true};
}

std::vector<Position> damaged_places(const State& state) {
  std::vector<Position> places;
  for (const Skipped& skipped : state.details->skipped) {
    if (skipped.reason == SkipReason::damaged) places.push_back(skipped.position);
  }
  return places;
}

Result<Exit> end_with_damage(CommandContext& context, const SessionId& session,
                             const std::vector<Position>& places) {
  if (places.empty()) return Exit::done;
  if (context.output().is_json()) return Exit::damaged;  // The document is all that is printed.
  context.screen().flush();
  return fail(ErrorCode::corrupted,
              fmt::format("{} of {} cannot be read, at {}: the store is damaged, and {} says more",
                          counted(places.size(), "entry"), session.text(), fmt::join(places, ", "),
                          context.command("check")));
}

std::vector<Option> with_model_options(std::vector<Option> options) {
  options.insert(
      options.end(),
      {{.name = "model", .value = "M", .summary = "The model, instead of the file's"},
       {.name = "provider",
        .value = "WHO",
        .summary = "Whose model: anthropic, openai (and all that speak like it), or scripted "
                   "(then M is a script)",
        .choices = {"anthropic", "openai", "scripted"}},
       {.name = "base-url",
        .value = "URL",
        .summary =
            "Where the model's server is; with --model else OPENAI_BASE_URL or ANTHROPIC_BASE_URL"},
       {.name = "budget",
        .value = "DOLLARS",
        .summary = "The most the session may spend",
        .takes = Takes::dollars}});
  return options;
}

std::vector<Option> with_take_up_options(std::vector<Option> options) {
  options.insert(
      options.end(),
      {{.name = "agent",
        .value = "FILE",
        .summary = "The session's agent file, instead of the one it remembers",
        .by = Completes::file},
       {.name = "accept-agent", .summary = "Resume with the agent that the bundle named"},
       {.name = "accept-changes", .summary = "Resume even if the agent file has changed"},
       {.name = "accept-damage",
        .summary = "Resume although entries are damaged: the model does not see them"},
       {.name = "wait",
        .value = "TIME",
        .summary = "How long to wait while another process runs it, like 30s",
        .takes = Takes::span}});
  return options;
}

std::optional<std::int64_t> budget_option(const Invocation& given) {
  return micros_from_dollars(given.find("budget").value_or(""));
}

std::string whole_path(const std::string& path, const std::string& folder) {
  return (std::filesystem::path(folder) / path).lexically_normal().string();
}

// An address is not repeated: it may hold a password.
Result<std::string> file_path(const std::string& file, const std::string& folder) {
  if (file.empty()) return misuse("no file is named: give its path");
  if (file == "-") return misuse("this needs a file, and - is none");
  if (file.find("://") != std::string::npos) {
    return misuse("this is about files, and that is the address of a server: give a path");
  }
  return whole_path(file, folder);
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

bool names_agent_file(const std::string& word, const std::string& folder) {
  if (word.ends_with(".yaml") || word.ends_with(".yml")) return true;
  std::error_code ignored;
  return std::filesystem::is_regular_file(whole_path(word, folder), ignored);
}

Result<SpooledFile> SpooledFile::make(const ProcessIo& io) {
  const auto named = io.environment("TMPDIR");
  std::string folder = (named && !named->empty() ? *named : "/tmp") + "/perdure-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) {
    return fail(ErrorCode::unavailable,
                fmt::format("cannot make a folder {}: {}. TMPDIR names another place", folder,
                            std::strerror(errno)));
  }
  return SpooledFile(std::move(folder));
}

SpooledFile::~SpooledFile() {
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

Result<void> SpooledFile::fill(std::istream& from) const {
  std::ofstream to(path(), std::ios::binary);
  if (to && carry(from, to)) return {};
  return fail(ErrorCode::unavailable,
              fmt::format("cannot keep what stdin has in {}: is there room? TMPDIR names another "
                          "place",
                          path()));
}

Result<void> SpooledFile::pour(std::ostream& to) const {
  std::ifstream from(path(), std::ios::binary);
  errno = 0;
  if (from && carry(from, to)) return {};
  const std::string why = errno != 0 ? fmt::format(": {}", std::strerror(errno)) : "";
  return fail(ErrorCode::unavailable, "not all of it could be written to stdout" + why,
              std::string(output_subject));
}

}  // namespace perdure::cli
