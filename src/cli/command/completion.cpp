// Scripts that only carry words: what was typed to `perdure complete`, and its lines back, which are
// "word<tab>what it is", and ":files" at the end where files fit too: those the shell knows best.
//
// bash cuts a word at ":", "=" and "@", and replaces only what stands after the last of them; so the
// line is split anew, and what stands before is taken off the answers. An autoloaded zsh function is the
// file itself, and has to do its work the first time that it is called.
//
// All words but the last are passed over as the parser would, except that none of them is an error:
// whoever is still typing has made no mistake yet.

#include "command/completion.hpp"

#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "command/command.hpp"
#include "command/help.hpp"

namespace perdure::cli {
namespace {

constexpr std::string_view bash_script =
    R"sh(# bash completion for perdure. Load it: source <(perdure completion bash)
_perdure() {
  local -a typed found
  local line=${COMP_LINE:0:COMP_POINT} breaks=${COMP_WORDBREAKS//[^:=@]/} word cut=
  read -ra typed <<<"$line"
  [[ $line == *[[:space:]] ]] && typed+=('')
  word=${typed[-1]}
  mapfile -t found < <("$1" complete -- "${typed[@]:1}" 2>/dev/null)
  if [[ ${found[*]: -1} == :files ]]; then
    unset 'found[-1]'
    mapfile -t -O ${#found[@]} found < <(compgen -f -- "$word")
    compopt -o filenames -o default
  fi
  [[ -n $breaks ]] && cut=${word%"${word##*[$breaks]}"}
  found=("${found[@]%%$'\t'*}")
  COMPREPLY=("${found[@]#"$cut"}")
}
complete -F _perdure perdure
)sh";

constexpr std::string_view zsh_script = R"sh(#compdef perdure
# zsh completion for perdure. Load it: source <(perdure completion zsh)
_perdure() {
  local -a found
  found=(${(f)"$(${(Q)words[1]} complete -- "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)"})
  if [[ $found[-1] == :files ]]; then
    found[-1]=()
    _files
  fi
  found=(${found//:/\\:})
  found=(${found/$'\t'/:})
  _describe perdure found
}
if [[ $funcstack[1] == _perdure ]]; then
  _perdure "$@"
else
  compdef _perdure perdure
fi
)sh";

constexpr std::string_view fish_script =
    R"sh(# fish completion for perdure. Load it: perdure completion fish | source
function __perdure_words
    set -l typed (commandline -opc)
    set -l found ($typed[1] complete -- $typed[2..] (commandline -ct) 2>/dev/null)
    if test "$found[-1]" = :files
        set -e found[-1]
        __fish_complete_path (commandline -ct)
    end
    if set -q found[1]
        printf '%s\n' $found
    end
end
complete -c perdure -f -a '(__perdure_words)'
)sh";

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

std::string completion_for(std::string_view shell) {
  if (shell == "bash") return std::string(bash_script);
  if (shell == "zsh") return std::string(zsh_script);
  return std::string(fish_script);
}

Suggestions suggestions_for(const std::vector<Command>& table,
                            const std::vector<std::string>& words) {
  Walk walk(table);
  for (std::size_t i = 0; i + 1 < words.size(); ++i) walk.pass(words[i]);
  return walk.last(words.empty() ? "" : words.back());
}

}  // namespace perdure::cli
