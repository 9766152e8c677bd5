// Scripts that only carry words: what was typed to `perdure complete`, and its lines back, which are
// "word<tab>what it is", and ":files" at the end where files fit too: those the shell knows best.
//
// bash cuts a word at ":", "=" and "@", and replaces only what stands after the last of them; so the
// line is split anew, and what stands before is taken off the answers. An autoloaded zsh function is the
// file itself, and has to do its work the first time that it is called.

#include <string>
#include <string_view>

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

}  // namespace

std::string completion_for(std::string_view shell) {
  if (shell == "bash") return std::string(bash_script);
  if (shell == "zsh") return std::string(zsh_script);
  return std::string(fish_script);
}

}  // namespace perdure::cli
