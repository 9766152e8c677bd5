// The command line, parsed; which fields --fields selects (a misspelt one is an error, not an empty
// column: scripts would not notice); and the exit code of an error.

#include "command/command.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sstream>

#include "core/api/text.hpp"
#include "core/api/wording.hpp"
#include "screen/display.hpp"
#include "screen/text.hpp"

namespace perdure::cli {
namespace {

// ", did you mean X?", or nothing.
std::string suggestion(std::string_view word, const std::vector<std::string_view>& names,
                       std::string_view dashes = "") {
  constexpr std::size_t telling_least = 3;  // Of a beginning.
  const auto begun = std::ranges::find_if(names, [&](auto name) { return name.starts_with(word); });
  if (word.size() >= telling_least && begun != names.end()) {
    return fmt::format("; did you mean {}{}?", dashes, *begun);
  }
  const auto nearest =
      std::ranges::min_element(names, {}, [&](auto name) { return edit_distance(word, name); });
  if (nearest == names.end()) return {};
  const std::size_t apart = edit_distance(word, *nearest);
  if (apart > 2 || apart >= word.size()) return {};
  return fmt::format("; did you mean {}{}?", dashes, *nearest);
}

// What a value that is none has to be; empty: it is one.
std::string_view wanted_instead(Takes takes, const std::string& value) {
  if (takes == Takes::count && number_from(value).value_or(0) <= 0) return "a number above 0";
  if (takes == Takes::dollars && !micros_from_dollars(value))
    return "an amount of dollars, like 2.50";
  if (takes == Takes::span && !span_from(value)) return "a time, like 30s, 12h or 90d";
  return {};
}

class Parser {
 public:
  Parser(const std::vector<Command>& table, const std::vector<std::string>& words)
      : table_(table), words_(words) {}

  Result<Invocation> run() {
    for (; next_ < words_.size(); ++next_) {
      const std::string& word = words_[next_];
      const bool is_option = !only_arguments_ && word.size() > 1 && word.front() == '-';
      if (is_option && word == "--") {
        only_arguments_ = true;
        continue;
      }
      auto taken = is_option ? take_option(word) : take_word(word);
      if (!taken) return forward(taken);
    }
    if (made_.command == nullptr || made_.has("help")) return std::move(made_);
    if (auto counted = check_count(); !counted) return forward(counted);
    for (const Option& option : made_.command->options) {
      const bool is_missing = made_.find(option.name).value_or("").empty();
      if (is_missing && !option.missing.empty()) return misuse(std::string(option.missing));
    }
    return std::move(made_);
  }

 private:
  Result<void> take_word(const std::string& word) {
    if (made_.command != nullptr) {
      made_.arguments.push_back(word);
      return {};
    }
    const auto found = std::ranges::find(table_, word, &Command::name);
    if (found != table_.end()) {
      made_.command = &*found;
      return {};
    }
    std::vector<std::string_view> names;
    for (const Command& command : table_) names.push_back(command.name);
    return misuse(fmt::format("there is no command {}{} (perdure help lists them)", word,
                              suggestion(word, names)));
  }

  Result<void> take_option(const std::string& word) {
    const bool is_long = word.starts_with("--");
    const auto equals = is_long ? word.find('=') : std::string::npos;
    const Option* option = find_option(made_.command, word.substr(0, equals));
    if (option == nullptr) {
      std::vector<std::string_view> names;
      for (const Option* each : options_of(made_.command)) names.push_back(each->name);
      const std::string name = word.substr(0, equals).substr(is_long ? 2 : 1);
      std::string meant = suggestion(name, names, "--");
      if (meant.empty() && !is_long) meant = "; if it is not an option, write -- before it";
      // Without its value: that may be an address with a password.
      return misuse(fmt::format("there is no option {}{}", word.substr(0, equals), meant));
    }
    if (option->value.empty()) {
      if (equals != std::string::npos)
        return misuse(fmt::format("--{} takes no value", option->name));
      made_.options[std::string(option->name)].emplace_back();
      return {};
    }
    if (equals != std::string::npos) return take_value(*option, word.substr(equals + 1));
    if (next_ + 1 == words_.size()) {
      return misuse(
          fmt::format("--{} needs a value: --{} {}", option->name, option->name, option->value));
    }
    return take_value(*option, words_[++next_]);
  }

  Result<void> take_value(const Option& option, const std::string& value) {
    if (!option.choices.empty() &&
        std::ranges::find(option.choices, value) == option.choices.end()) {
      return misuse(fmt::format("--{} is one of {}, not {}", option.name,
                                fmt::join(option.choices, ", "), value));
    }
    if (const std::string_view wanted = wanted_instead(option.takes, value); !wanted.empty()) {
      return misuse(fmt::format("--{} is {}, not {}", option.name, wanted, value));
    }
    auto& values = made_.options[std::string(option.name)];
    if (!option.repeats && !values.empty()) {
      return misuse(fmt::format("--{} is given twice", option.name));
    }
    values.push_back(value);
    return {};
  }

  [[nodiscard]] Result<void> check_count() const {
    std::size_t least = 0;
    std::size_t most = 0;
    for (const Argument& argument : made_.command->arguments) {
      using Count = Argument::Count;
      least += argument.count == Count::one || argument.count == Count::some ? 1 : 0;
      const bool is_many = argument.count == Count::any || argument.count == Count::some;
      most += is_many ? words_.size() : 1;
    }
    const std::size_t count = made_.arguments.size();
    if (count >= least && count <= most) return {};
    return misuse(fmt::format("{}: usage: {}",
                              count < least ? "something is missing" : "that is too much",
                              usage_of(*made_.command)));
  }

  const std::vector<Command>& table_;
  const std::vector<std::string>& words_;
  std::size_t next_ = 0;
  bool only_arguments_ = false;
  Invocation made_;
};

}  // namespace

const std::vector<Option>& global_options() {
  static const std::vector<Option> options = {
      {.name = "store",
       .value = "PLACE",
       .summary = "The store: a path, or postgres://…",
       .by = Completes::file},
      {.name = "json", .summary = "One JSON document on stdout"},
      {.name = "jsonl", .summary = "One JSON object a line on stdout"},
      {.name = "fields",
       .value = "A,B",
       .summary = "Only these members of each item of a JSON list, in this order"},
      {.name = "color",
       .value = "WHEN",
       .summary = "Colours: auto, always or never",
       .choices = {"auto", "always", "never"}},
      {.name = "quiet", .summary = "Say nothing on stderr but errors", .letter = 'q'},
      {.name = "yes", .summary = "Do not ask for confirmation", .letter = 'y'},
      {.name = "help", .summary = "Say how the command is used", .letter = 'h'},
      {.name = "version", .summary = "Say which version this is"},
  };
  return options;
}

std::vector<const Option*> options_of(const Command* command) {
  std::vector<const Option*> options;
  if (command != nullptr) {
    for (const Option& option : command->options) options.push_back(&option);
  }
  for (const Option& option : global_options()) options.push_back(&option);
  return options;
}

const Option* find_option(const Command* command, std::string_view word) {
  for (const Option* option : options_of(command)) {
    const bool is_letter = option->letter != '\0' && word == fmt::format("-{}", option->letter);
    if (is_letter || word == fmt::format("--{}", option->name)) return option;
  }
  return nullptr;
}

std::string usage_of(const Command& command) {
  std::string usage = fmt::format("perdure {}", command.name);
  for (const Argument& argument : command.arguments) {
    using Count = Argument::Count;
    const bool is_many = argument.count == Count::any || argument.count == Count::some;
    const std::string name = fmt::format("{}{}", argument.name, is_many ? "…" : "");
    const bool is_needed = argument.count == Count::one || argument.count == Count::some;
    usage += is_needed ? " " + name : " [" + name + "]";
  }
  return command.options.empty() ? usage : usage + " [OPTION…]";
}

Result<Invocation> parse(const std::vector<Command>& table, const std::vector<std::string>& words) {
  return Parser(table, words).run();
}

std::optional<std::string> Invocation::find(std::string_view option) const {
  const auto found = options.find(option);
  if (found == options.end()) return std::nullopt;
  return found->second.back();
}

std::vector<std::string> Invocation::all(std::string_view option) const {
  const auto found = options.find(option);
  return found == options.end() ? std::vector<std::string>{} : found->second;
}

Exit exit_for(const Error& error) {
  if (error.subject == "authority") return Exit::not_authorised;
  // Of this kind of store it cannot be asked: that says nothing about its format.
  if (error.subject == "operation") return Exit::usage;
  // A person has to accept a changed or an imported agent, or to overrule a denial.
  if (error.subject == "agent_changed" || error.subject == "agent_refused" ||
      error.subject == "agent_imported" || error.subject == "call_denied") {
    return Exit::unconfirmed;
  }
  if (error.subject == "store_in_use") return Exit::in_use;
  switch (error.code) {
    case ErrorCode::invalid_argument:
      return Exit::usage;
    case ErrorCode::not_found:
      return Exit::not_found;
    case ErrorCode::lease_held:
    case ErrorCode::lease_lost:
      return Exit::in_use;
    case ErrorCode::corrupted:
      return Exit::damaged;
    case ErrorCode::unsupported:
      return Exit::unsupported;
    default:
      return Exit::failed;
  }
}

std::string_view meaning_of(Exit exit) {
  static constexpr std::array<std::pair<Exit, std::string_view>, 13> meanings = {{
      {Exit::done, "done"},
      {Exit::failed, "failed"},
      {Exit::usage, "the command line makes no sense"},
      {Exit::not_found, "not found, or ambiguous"},
      {Exit::not_authorised, "not authorised"},
      {Exit::in_use, "the session or the store is in use"},
      {Exit::damaged, "damage was found"},
      {Exit::in_doubt, "stopped: a call is in doubt"},
      {Exit::resting, "stopped: paused or waiting"},
      {Exit::unconfirmed, "confirmation needed, or refused"},
      {Exit::unsupported, "the store's format is not supported"},
      {Exit::interrupted, "interrupted by Ctrl-C; perdure resume continues"},
      {Exit::terminated, "ended by SIGTERM or SIGHUP; perdure resume continues"},
  }};
  return std::ranges::find(meanings, exit, &std::pair<Exit, std::string_view>::first)->second;
}

Result<std::vector<std::string>> fields_of(const Invocation& given) {
  const auto asked = given.find("fields");
  if (!asked) return std::vector<std::string>{};
  const Command& command = *given.command;
  if (command.fields.empty()) {
    return misuse(fmt::format("{} prints no list, so --fields chooses nothing", command.name));
  }
  if (!given.has("json") && !given.has("jsonl")) {
    return misuse("--fields is for JSON: say --json or --jsonl with it");
  }
  std::vector<std::string> fields;
  std::istringstream names(*asked);
  for (std::string name; std::getline(names, name, ',');) {
    if (std::ranges::find(command.fields, name) == command.fields.end()) {
      return misuse(fmt::format("{} has no field {}; there are {}", command.name,
                                name.empty() ? "without a name" : name,
                                fmt::join(command.fields, ", ")));
    }
    fields.push_back(std::move(name));
  }
  if (!fields.empty()) return fields;
  return misuse(fmt::format("--fields names none; there are {}", fmt::join(command.fields, ", ")));
}

}  // namespace perdure::cli
