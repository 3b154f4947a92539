"""`turnwire completion`: prints a script with which a shell completes commands."""

from __future__ import annotations

import click

__all__ = ["command"]

# The scripts ask the program, as click says: `COMP_WORDS` has the words up to the cursor, and click
# answers one value at a time. Click's own scripts lose a value after `--option=`, what follows a
# comma in a description (fish), and an empty word before others. A Tab prints no errors.
_BASH = r"""
_turnwire_completion() {
    local kind value word words=()
    for word in "${COMP_WORDS[@]:0:COMP_CWORD}"; do
        [[ $word == = ]] || words+=("$word")  # bash splits --option=value into three words
    done
    words+=("${2#=}")
    COMPREPLY=()
    while IFS=, read -r kind value; do
        case $kind in
            plain) COMPREPLY+=("$value") ;;
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
        esac
    done < <(env COMP_WORDS="${words[*]}" COMP_CWORD=$((${#words[@]} - 1)) \
        _TURNWIRE_COMPLETE=bash_complete "${1/#\~/$HOME}" 2>/dev/null)
}

complete -o nosort -F _turnwire_completion turnwire
"""
_ZSH = r"""#compdef turnwire

_turnwire_completion() {
    local kind value about
    local -a answer plain described
    answer=("${(@f)$(env COMP_WORDS="${words[1,CURRENT]}" COMP_CWORD=$((CURRENT - 1)) \
        _TURNWIRE_COMPLETE=zsh_complete ${~words[1]} 2>/dev/null)}")
    [[ $PREFIX == --*=* ]] && compset -P 1 '*='
    for kind value about in "${(@)answer}"; do
        case $kind:$about in
            plain:_) plain+=("$value") ;;
            plain:*) described+=("$value:${about//\\/\\\\}") ;;
            dir:*) _files -/ ;;
            file:*) _files ;;
        esac
    done
    (( $#described )) && _describe -V turnwire described
    (( $#plain )) && compadd -V turnwire -a plain
}

if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _turnwire_completion "$@"
else
    compdef _turnwire_completion turnwire
fi
"""
_FISH = r"""
function _turnwire_completion
    set -l words (commandline -cp | string join ' ')
    set -l word (commandline -ct)
    set -l option (string match -r -- '^--[^=]+=' "$word")
    for line in (env COMP_WORDS="$words" COMP_CWORD="$word" \
            _TURNWIRE_COMPLETE=fish_complete turnwire 2>/dev/null)
        set -l item (string split -m 1 , -- $line)
        switch $item[1]
            case plain
                printf '%s%s\n' "$option" $item[2]
            case dir
                __fish_complete_directories $item[2] | string replace -r -- '^' "$option"
            case file
                __fish_complete_path $item[2] | string replace -r -- '^' "$option"
        end
    end
end

complete --command turnwire --no-files --keep-order --arguments '(_turnwire_completion)'
"""

_SCRIPTS = {"bash": _BASH.lstrip(), "zsh": _ZSH, "fish": _FISH.lstrip()}


@click.command("completion")
@click.argument("shell", type=click.Choice([*_SCRIPTS]), metavar="bash|zsh|fish")
def command(*, shell: str) -> None:
    """Print a script for completion in bash, zsh or fish.

    Commands, options, their values, files, agents and ids of conversations are completed.

    \b
    bash 4.4 or newer: add to ~/.bashrc
      eval "$(turnwire completion bash)"
    zsh: add to ~/.zshrc, after compinit
      eval "$(turnwire completion zsh)"
    fish: add to ~/.config/fish/config.fish
      turnwire completion fish | source
    """
    click.echo(_SCRIPTS[shell], nl=False)
