"""A person who presses Tab in a real shell."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cli.helpers.terminal import Terminal

__all__ = ["Pressed", "press_tab"]

# Each shell starts as the help of `turnwire completion` says. Ctrl-T writes down the line and what
# was offered, and ends the shell: keys take effect in order.
_BASH = r"""
PS1='ready> '
eval "$(turnwire completion bash)"
noticing() { _turnwire_completion "$@"; offered=("${COMPREPLY[@]}"); }
complete -o nosort -F noticing turnwire
note() { printf '%s\n' "$READLINE_LINE" "${offered[@]}" -- > "$NOTE"; exit; }
bind -x '"\C-t": note'
"""
_ZSH = r"""
PROMPT='ready> '
autoload -Uz compinit
compinit -D -u
eval "$(turnwire completion zsh)"
compadd() {
    local -a those
    local name=${@[${@[(i)-d]} + 1]}
    [[ -n $name ]] && with_texts+=("${(@P)name}")
    builtin compadd -O those "$@"
    offered+=("${those[@]}")
    builtin compadd "$@"
}
note() { print -rl -- "$BUFFER" "${offered[@]}" -- "${with_texts[@]}" > $NOTE; exit }
zle -N note
bindkey '^T' note
"""
_FISH = r"""
set fish_greeting
function fish_prompt; echo 'ready> '; end
turnwire completion fish | source
function note
    set -l line (commandline)
    set -l described (complete -C "$TYPED")
    printf '%s\n' $line (string replace -r '\t.*' '' -- $described) -- $described > $NOTE
    exit
end
bind \ct note
"""
_LEFT = "\x1b[D"  # the key
_STARTS = {
    "bash": (
        ["bash", "--noprofile", "--rcfile", "../bash of a person/.bashrc", "-i"],
        ".bashrc",
        _BASH,
    ),
    "zsh": (["zsh", "-d", "-i"], ".zshrc", _ZSH),
    "fish": (["fish", "-i"], ".config/fish/config.fish", _FISH),
}


class Pressed(NamedTuple):
    """What a shell made of a Tab."""

    line: str
    offered: list[str]
    described: list[str]  # the same with descriptions; bash has none
    drawn: str  # on the terminal


def press_tab(shell: str, typed: str, behind: str = "", *, home: Path, folder: Path) -> Pressed:
    """Types this in a shell that starts in `folder`, presses Tab and returns what came of it.

    `behind` is what stands behind the cursor.
    """
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed: apt install {shell}")
    command, file, script = _STARTS[shell]
    config = folder.parent / f"{shell} of a person"
    (config / file).parent.mkdir(parents=True, exist_ok=True)
    (config / file).write_text(script)
    note = config / "note"
    with Terminal(
        *command,
        program=["env", f"--chdir={folder}"],
        home=home,
        columns=200,
        rows=100,
        TERM="dumb",
        NOTE=str(note),
        TYPED=typed,
        HOME=str(config),
        XDG_CONFIG_HOME=str(config / ".config"),
        ZDOTDIR=str(config),
        PATH=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    ) as terminal:
        terminal.wait_for("ready>")
        terminal.type(f"{typed}{behind}{_LEFT * len(behind)}\t\x14")
        terminal.end()
    line, *noted = note.read_text().splitlines()
    end = noted.index("--")
    offered, described = (
        [*dict.fromkeys(filter(None, part))] for part in (noted[:end], noted[end + 1 :])
    )
    return Pressed(line, offered, described, terminal.drawn)
