// All words but the last are passed over as the parser would, except that none of them is an error:
// whoever is still typing has made no mistake yet.

#include "command/suggestions.hpp"

#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "command/command.hpp"

namespace perdure::cli {
namespace {

class Walk {
 public:
  explicit Walk(const std::vector<Command>& table) : table_(table) {}

  void pass(const std::string& word) {
    if (const Option* open = std::exchange(open_, nullptr)) return pass_value(*open, word);
    if (!only_arguments_ && word == "--") {
      only_arguments_ = true;
    } else if (is_option(word)) {
      const auto equals = word.find('=');
      const Option* option = find_option(word.substr(0, equals));
      if (option == nullptr || option->value.empty()) return;
      if (equals == std::string::npos) {
        open_ = option;
      } else {
        pass_value(*option, word.substr(equals + 1));
      }
    } else if (command_ != nullptr) {
      ++arguments_;
    } else {
      const auto found = std::ranges::find(table_, word, &Command::name);
      if (found != table_.end()) command_ = &*found;
    }
  }

  Suggestions last(const std::string& word) {
    made_.typed = word;
    if (open_ != nullptr) {
      suggest_value(*open_, "");
    } else if (is_option(word)) {
      suggest_option(word);
    } else if (command_ == nullptr) {
      suggest_commands();
    } else if (const Argument* argument = next_argument()) {
      for (const std::string_view choice : argument->choices) suggest(std::string(choice), "");
      if (argument->by == Completes::command) suggest_commands();
      made_.by = argument->by;
    }
    return std::move(made_);
  }

 private:
  [[nodiscard]] bool is_option(const std::string& word) const {
    return !only_arguments_ && word.starts_with('-');
  }

  [[nodiscard]] std::vector<const Option*> options() const {
    std::vector<const Option*> known;
    if (command_ != nullptr) {
      for (const Option& option : command_->options) known.push_back(&option);
    }
    for (const Option& option : global_options()) known.push_back(&option);
    return known;
  }

  [[nodiscard]] const Option* find_option(const std::string& word) const {
    for (const Option* option : options()) {
      const bool is_letter = option->letter != '\0' && word == fmt::format("-{}", option->letter);
      if (is_letter || word == fmt::format("--{}", option->name)) return option;
    }
    return nullptr;
  }

  [[nodiscard]] const Argument* next_argument() const {
    const std::vector<Argument>& known = command_->arguments;
    if (arguments_ < known.size()) return &known[arguments_];
    const bool goes_on = !known.empty() && (known.back().count == Argument::Count::any ||
                                            known.back().count == Argument::Count::some);
    return goes_on ? &known.back() : nullptr;
  }

  void pass_value(const Option& option, const std::string& value) {
    if (option.name == "store") made_.store = value;
  }

  void suggest(std::string word, std::string_view what) {
    if (word.starts_with(made_.typed)) made_.words.push_back({std::move(word), what});
  }

  void suggest_commands() {
    for (const Command& command : table_) {
      if (!command.is_hidden) suggest(std::string(command.name), command.summary);
    }
  }

  void suggest_option(const std::string& word) {
    const auto equals = word.find('=');
    if (equals != std::string::npos) {
      const Option* option = find_option(word.substr(0, equals));
      if (option != nullptr) suggest_value(*option, word.substr(0, equals + 1));
      return;
    }
    for (const Option* option : options()) {
      suggest(fmt::format("--{}", option->name), option->summary);
    }
  }

  void suggest_value(const Option& option, const std::string& before) {
    for (const std::string_view choice : option.choices) {
      suggest(fmt::format("{}{}", before, choice), "");
    }
    if (before.empty()) made_.by = option.by;
  }

  const std::vector<Command>& table_;
  const Command* command_ = nullptr;
  const Option* open_ = nullptr;  ///< It waits for its value.
  std::size_t arguments_ = 0;
  bool only_arguments_ = false;
  Suggestions made_;
};

}  // namespace

Suggestions suggestions_for(const std::vector<Command>& table,
                            const std::vector<std::string>& words) {
  Walk walk(table);
  for (std::size_t i = 0; i + 1 < words.size(); ++i) walk.pass(words[i]);
  return walk.last(words.empty() ? "" : words.back());
}

}  // namespace perdure::cli
