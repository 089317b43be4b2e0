"""`hookgate completion`, and what a shell offers for an argument that names something. Imports click alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from hookgate.protocol.dataclasses import dataclass

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

BASH = """\
_hookgate_completion() {
    local line=${COMP_LINE:0:COMP_POINT} kind value
    local word=${line##*[[:space:]]} own=$2
    # Bash takes a word apart at colons, and puts in what belongs behind the last one.
    [[ $COMP_WORDBREAKS == *:* ]] && own=${own##*:}
    # The last of the words, or none that has begun.
    local at=-1
    [[ -z $word ]] && at=${#line}
    while IFS=, read -r kind value; do
        case $kind in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain) COMPREPLY+=("${value#"${word%"$own"}"}") ;;
        esac
    done < <(COMP_WORDS=$line COMP_CWORD=$at _HOOKGATE_COMPLETE=bash_complete "$1")
}
complete -o nosort -F _hookgate_completion hookgate
"""
FISH = """\
function _hookgate_completion
    set -l words COMP_WORDS=(commandline -cp | string collect) COMP_CWORD=(commandline -ct)
    # What is completed is the value alone; what is put in stands for the whole word.
    set -l option (string match -r -- '^--[^=]+=' (commandline -ct); or echo)
    for line in (env _HOOKGATE_COMPLETE=fish_complete $words hookgate)
        # The first comma alone: what a command is for has commas too.
        set -l found (string split -m 1 , -- $line)
        switch $found[1]
            case dir
                set found (__fish_complete_directories $found[2])
            case file
                set found (__fish_complete_path $found[2])
            case '*'
                set -e found[1]
        end
        string join \\n -- $option$found
    end
end
complete --no-files --command hookgate --arguments "(_hookgate_completion)"
"""
ZSH = """\
#compdef hookgate
_hookgate_completion() {
    local kind name about
    local -a found plain described
    local -i longest room
    found=("${(@f)$(COMP_WORDS="${words[*]}" COMP_CWORD=$((CURRENT-1)) _HOOKGATE_COMPLETE=zsh_complete hookgate)}")
    # What is completed is the value alone.
    [[ $PREFIX == --*=* ]] && compset -P 1 '*='
    for kind name about in $found; do
        (( ${#name} > longest )) && longest=${#name}
    done
    # What is wider than the screen zsh would cut inside a word.
    room=$((COLUMNS - longest - 10))
    for kind name about in $found; do
        (( room > 0 && ${#about} > room )) && about="${${about[1,room-2]}% *}..."
        case $kind in
            dir) _path_files -/ ;;
            file) _path_files -f ;;
            plain) [[ $about == _ ]] && plain+=("$name") || described+=("$name:$about") ;;
        esac
    done
    (( $#described )) && _describe -V unsorted described -U -i "$IPREFIX"
    (( $#plain )) && compadd -U -i "$IPREFIX" -V unsorted -a plain
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    # A file of fpath, read in the middle of the first completion.
    _hookgate_completion "$@"
else
    (( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }
    compdef _hookgate_completion hookgate
fi
"""


SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}


@click.command()
@click.argument("shell", type=click.Choice([*SCRIPTS]))
def completion(shell: str) -> None:
    """Print what makes a shell complete hookgate's commands.

    \b
    In ~/.bashrc:
      eval "$(hookgate completion bash)"
    In ~/.zshrc:
      eval "$(hookgate completion zsh)"
    In ~/.config/fish/config.fish:
      hookgate completion fish | source
    """
    click.echo(SCRIPTS[shell])


@dataclass(frozen=True)
class Typed:
    """What stands in the line already, of which names depend on it. `session`: the name of the one that a command is
    about; empty: none."""

    config_file: Path | None
    control: Path | None
    session: str = ""


class TooLate(BaseException):
    """Names are not known in time; no Exception, which whoever asks gateway after gateway takes for an answer."""


Names = Callable[[Typed], Iterable[str]]
Complete = Callable[[click.Context, click.Parameter, str], "list[CompletionItem]"]


def completed(names: Names, *, once: bool = False) -> Complete:
    """For an argument's or option's `shell_complete`, which offers none of these twice; `once`: one of them and no
    more. Whatever `names` raises, nothing is offered: a shell in the middle of a line is no place for a message."""

    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        given = context.params.get(parameter.name or "")
        before = frozenset(cast("tuple[str, ...]", given) if isinstance(given, tuple) else ())
        if once and before:
            return []
        said = context.params
        typed = Typed(said.get("config_file"), said.get("control"), said.get("session") or "")
        try:
            found = sorted({*names(typed)} - before)
        except (Exception, TooLate):
            return []
        return [CompletionItem(name) for name in found if name.startswith(incomplete)]

    return complete
