// Scripts that complete commands and options by themselves, and ask the program for sessions and
// calls: `perdure complete session`.

#include <fmt/format.h>
#include <string>
#include <string_view>
#include <vector>

#include "command/command.hpp"
#include "command/help.hpp"

namespace perdure::cli {
namespace {

std::string_view completed_by(const Command& command) {
  if (command.arguments.empty()) return "nothing";
  switch (command.arguments.front().by) {
    case Completes::nothing:
      return "nothing";
    case Completes::session:
      return "session";
    case Completes::call:
      return "call";
    case Completes::file:
      return "file";
    case Completes::command:
      return "command";
  }
  return "nothing";
}

std::vector<std::string> option_words(const Command& command) {
  std::vector<std::string> words;
  for (const Option& option : command.options) words.push_back(fmt::format("--{}", option.name));
  for (const Option& option : global_options()) words.push_back(fmt::format("--{}", option.name));
  return words;
}

std::string names_of(const std::vector<Command>& table) {
  std::string names;
  for (const Command& command : table) {
    if (!command.is_hidden) names += fmt::format("{}{}", names.empty() ? "" : " ", command.name);
  }
  return names;
}

// One `case` of a shell: the options and what completes the arguments, by command.
std::string shell_cases(const std::vector<Command>& table) {
  std::string cases;
  for (const Command& command : table) {
    if (command.is_hidden) continue;
    cases += fmt::format("    {}) options='{}' by={} ;;\n", command.name,
                         fmt::join(option_words(command), " "), completed_by(command));
  }
  return cases;
}

std::string bash_script(const std::vector<Command>& table) {
  return fmt::format(
      R"sh(# bash completion for perdure. Load it: source <(perdure completion bash)
_perdure() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} verb=${{COMP_WORDS[1]}} options= by=nothing
  if ((COMP_CWORD == 1)); then
    mapfile -t COMPREPLY < <(compgen -W '{}' -- "$word")
    return
  fi
  case $verb in
{}  esac
  if [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
  elif [[ $by == file ]]; then
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
  elif [[ $by == command ]]; then
    mapfile -t COMPREPLY < <(compgen -W '{}' -- "$word")
  elif [[ $by != nothing ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(perdure complete "$by" 2>/dev/null | cut -f1)" -- "$word")
  fi
}}
complete -F _perdure perdure
)sh",
      names_of(table), shell_cases(table), names_of(table));
}

std::string zsh_script(const std::vector<Command>& table) {
  std::string verbs;
  for (const Command& command : table) {
    if (!command.is_hidden) verbs += fmt::format("    '{}:{}'\n", command.name, command.summary);
  }
  return fmt::format(
      R"sh(#compdef perdure
# zsh completion for perdure. Load it: source <(perdure completion zsh)
_perdure() {{
  local options= by=nothing
  local -a verbs=(
{})
  if ((CURRENT == 2)); then
    _describe command verbs
    return
  fi
  case $words[2] in
{}  esac
  if [[ $words[CURRENT] == -* ]]; then
    compadd -- ${{=options}}
  elif [[ $by == file ]]; then
    _files
  elif [[ $by == command ]]; then
    _describe command verbs
  elif [[ $by != nothing ]]; then
    local -a found=(${{(f)"$(perdure complete $by 2>/dev/null)"}})
    compadd -d found -- ${{found%%$'\t'*}}
  fi
}}
compdef _perdure perdure
)sh",
      verbs, shell_cases(table));
}

std::string fish_script(const std::vector<Command>& table) {
  std::string text =
      "# fish completion for perdure. Load it: perdure completion fish | source\ncomplete -c "
      "perdure -f\n";
  for (const Command& command : table) {
    if (command.is_hidden) continue;
    text += fmt::format("complete -c perdure -n __fish_use_subcommand -a {} -d '{}'\n",
                        command.name, command.summary);
    const std::string seen = fmt::format("__fish_seen_subcommand_from {}", command.name);
    for (const Option& option : command.options) {
      text += fmt::format("complete -c perdure -n '{}' -l {} -d '{}'{}\n", seen, option.name,
                          option.summary, option.value.empty() ? "" : " -r");
    }
    const std::string_view by = completed_by(command);
    if (by == "session" || by == "call") {
      text += fmt::format("complete -c perdure -n '{}' -a '(perdure complete {} 2>/dev/null)'\n",
                          seen, by);
    } else if (by == "file") {
      text += fmt::format("complete -c perdure -n '{}' -F\n", seen);
    }
  }
  for (const Option& option : global_options()) {
    text += fmt::format("complete -c perdure -l {} -d '{}'{}\n", option.name, option.summary,
                        option.value.empty() ? "" : " -r");
  }
  return text;
}

}  // namespace

std::string completion_for(std::string_view shell, const std::vector<Command>& table) {
  if (shell == "bash") return bash_script(table);
  if (shell == "zsh") return zsh_script(table);
  return fish_script(table);
}

}  // namespace perdure::cli
