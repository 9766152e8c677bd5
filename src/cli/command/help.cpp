// bash, zsh and fish ask the program itself at every Tab: `perdure complete -- WORDS`, the last word being
// the one at the cursor. It answers one word a line, with a tab and what it is, and ":files" at the end
// where files fit too: those the shell knows best.
//
// bash cuts a word at ":", "=" and "@", and replaces only what follows the last of them; so the
// line is split again, and what comes before is taken off the answers. An autoloaded zsh function
// is the file itself, and has to do its work the first time that it is called.

#include "command/help.hpp"

#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "command/command.hpp"
#include "screen/text.hpp"

namespace perdure::cli {
namespace {

constexpr std::size_t help_columns = 100;

using Pairs = std::vector<std::pair<std::string, std::string>>;

std::string two_columns(const Pairs& lines) {
  std::size_t widest = 0;
  for (const auto& [left, right] : lines) widest = std::max(widest, width_of(left));
  std::string text;
  for (const auto& [left, right] : lines) {
    text += fmt::format("  {}{}  {}\n", left, std::string(widest - width_of(left), ' '), right);
  }
  return text;
}

// "-o, --output FILE".
std::string option_text(const Option& option) {
  const std::string letter = option.letter != '\0' ? fmt::format("-{}, ", option.letter) : "";
  const std::string value = option.value.empty() ? "" : fmt::format(" {}", option.value);
  return fmt::format("{}--{}{}", letter, option.name, value);
}

std::vector<Exit> exits_of(const Command& command) {
  std::set<Exit> exits = {Exit::done, Exit::failed, Exit::usage};
  if (command.body.opens_store) {
    exits.insert(
        {Exit::not_found, Exit::not_authorised, Exit::in_use, Exit::damaged, Exit::unsupported});
  }
  exits.insert(command.exits.begin(), command.exits.end());
  return {exits.begin(), exits.end()};
}

Pairs lines_of(const std::vector<Option>& options) {
  Pairs lines;
  for (const Option& option : options) lines.emplace_back(option_text(option), option.summary);
  return lines;
}

Pairs lines_of(const std::vector<Command>& table) {
  Pairs lines;
  for (const Command& command : table) {
    if (!command.is_hidden) lines.emplace_back(command.name, command.summary);
  }
  return lines;
}

// What there is to say about a command beyond its details, and what one of these things is called.
struct Section {
  std::string_view each;
  Pairs lines;
};

std::vector<Section> sections_of(const Command& command) {
  Section arguments{"argument", {}};
  for (const Argument& each : command.arguments) {
    arguments.lines.emplace_back(each.name, each.summary);
  }
  Section exits{"exit code", {}};
  for (const Exit exit : exits_of(command)) {
    exits.lines.emplace_back(std::to_string(std::to_underlying(exit)), meaning_of(exit));
  }
  Section examples{"example", {}};
  for (const Example& each : command.examples) examples.lines.emplace_back(each.line, each.what);
  std::vector<Section> sections = {std::move(arguments),
                                   {"option", lines_of(command.options)},
                                   std::move(exits),
                                   std::move(examples)};
  std::erase_if(sections, [](const Section& section) { return section.lines.empty(); });
  return sections;
}

// Whatever man would take for its own. Dashes are made the ASCII ones, so that they can be copied.
std::string roff(std::string_view text) {
  std::string made;
  for (const char letter : text) {
    if (letter == '\\') {
      made += "\\e";
    } else if (letter == '-') {
      made += "\\-";
    } else {
      made += letter;
    }
  }
  for (const std::string_view risky : {"\n.", "\n'"}) {
    for (auto at = made.find(risky); at != std::string::npos; at = made.find(risky, at + 3)) {
      made.insert(at + 1, "\\&");
    }
  }
  return made;
}

std::string man_lines(const Pairs& lines) {
  std::string text;
  for (const auto& [left, right] : lines) {
    text += fmt::format(".TP\n.B {}\n{}.\n", roff(left), roff(right));
  }
  return text;
}

std::string man_head(std::string_view name, std::string_view summary, std::string_view usage) {
  return fmt::format(
      ".TH {} 1 \"\" \"perdure\" \"Perdure\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n{}\n", name,
      roff(name), roff(summary), roff(usage));
}

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
      const Option* option = find_option(command_, word.substr(0, equals));
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
      const Option* option = find_option(command_, word.substr(0, equals));
      if (option != nullptr) suggest_value(*option, word.substr(0, equals + 1));
      return;
    }
    for (const Option* option : options_of(command_)) {
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

std::string overview(const std::vector<Command>& table) {
  return fmt::format(
      "perdure: agents that cannot be lost.\n\nusage: perdure COMMAND [ARGUMENT…] "
      "[OPTION…]\n\ncommands:\n{}\noptions of every command:\n{}\nA session is named by its id, "
      "the beginning of it, its title, or @last; a point of it by SES@v3\n(version), SES@2 (after "
      "turn 2), SES@2.1 (after a step of it).  More: perdure help COMMAND\n",
      two_columns(lines_of(table)), two_columns(lines_of(global_options())));
}

std::string help_of(const Command& command) {
  std::string text = fmt::format("{}.\n\nusage: {}\n", command.summary, usage_of(command));
  if (!command.details.empty()) {
    text += fmt::format("\n{}\n", wrapped(command.details, help_columns));
  }
  for (const Section& section : sections_of(command)) {
    text += fmt::format("\n{}s:\n{}", section.each, two_columns(section.lines));
  }
  return text;
}

std::string markdown_of(const Command& command) {
  std::string text = fmt::format("# perdure {}\n\n{}.\n\n    {}\n", command.name, command.summary,
                                 usage_of(command));
  if (!command.details.empty()) text += fmt::format("\n{}\n", command.details);
  std::string examples;
  for (const auto& [each, lines] : sections_of(command)) {
    if (each == "example") {
      for (const auto& [line, what] : lines) examples += fmt::format("- `{}`: {}\n", line, what);
      continue;
    }
    text += fmt::format("\n| {} | |\n|---|---|\n", each);
    const std::string_view mark = each == "exit code" ? "" : "`";
    for (const auto& [left, right] : lines) {
      text += fmt::format("| {}{}{} | {} |\n", mark, left, mark, right);
    }
  }
  if (!command.schema.empty()) {
    text += fmt::format("\n`--json` prints `{}`: [schema](../schemas/{}.json).\n", command.schema,
                        command.schema.substr(0, command.schema.find('/')));
  }
  return examples.empty() ? text : text + "\nExamples:\n\n" + examples;
}

std::string markdown_index(const std::vector<Command>& table) {
  std::string text =
      "# The command line\n\nMade by `perdure reference`; do not edit.\n\n| command | "
      "|\n|---|---|\n";
  for (const auto& [name, summary] : lines_of(table)) {
    text += fmt::format("| [`{0}`]({0}.md) | {1} |\n", name, summary);
  }
  text += "\n| option of every command | |\n|---|---|\n";
  for (const auto& [option, summary] : lines_of(global_options())) {
    text += fmt::format("| `{}` | {} |\n", option, summary);
  }
  return text;
}

std::string man_of(const Command& command) {
  std::string text =
      man_head(fmt::format("perdure-{}", command.name), command.summary, usage_of(command));
  text += fmt::format(".SH DESCRIPTION\n{}.\n", roff(command.summary));
  if (!command.details.empty()) text += fmt::format(".PP\n{}\n", roff(command.details));
  std::string options = ".SH OPTIONS\n";
  std::string rest;
  for (const auto& [each, lines] : sections_of(command)) {
    if (each == "argument") text += ".SH ARGUMENTS\n" + man_lines(lines);
    if (each == "option") options += man_lines(lines);
    if (each == "exit code") rest += ".SH EXIT STATUS\n" + man_lines(lines);
    if (each == "example") rest += ".SH EXAMPLES\n" + man_lines(lines);
  }
  return text + options + man_lines(lines_of(global_options())) + rest +
         ".SH SEE ALSO\n.BR perdure (1)\n";
}

std::string man_index(const std::vector<Command>& table) {
  std::string text =
      man_head("perdure", "agents that cannot be lost", "perdure COMMAND [ARGUMENT…] [OPTION…]");
  text += ".SH COMMANDS\n";
  for (const auto& [name, summary] : lines_of(table)) {
    text += fmt::format(".TP\n.BR perdure\\-{} (1)\n{}.\n", name, roff(summary));
  }
  return text + ".SH OPTIONS\n" + man_lines(lines_of(global_options()));
}

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
