"""Commands that run the command they are given: where in their arguments it begins. Judges nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from hookgate.guards.shell.tree import Word
from hookgate.protocol.dataclasses import dataclass

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=", re.ASCII)


@dataclass(frozen=True, slots=True)
class Wrapper:
    """`valued`: flags that take the next word; `operands`: words before the command; `assigns`: NAME=VALUE may stand
    before it; `line`: flags whose value is a whole command line; `joins`: its operands together are one."""

    valued: frozenset[str] = frozenset()
    operands: int = 0
    assigns: bool = False
    line: frozenset[str] = frozenset()
    joins: bool = False


def _wrapper(valued: str = "", operands: int = 0, line: str = "", *, assigns: bool = False) -> Wrapper:
    return Wrapper(frozenset(valued.split()), operands, assigns, frozenset(line.split()))


_SUDO = (
    "-u -g -h -p -C -r -t -T -U -D -R --user --group --host --prompt --close-from --role --type --other-user "
    "--chdir --chroot --command-timeout"
)
_XARGS = (
    "-I -n -P -d -a -E -L -s --max-args --max-procs --delimiter --arg-file --max-lines --max-chars --process-slot-var"
)
WRAPPERS: Mapping[str, Wrapper] = {
    "env": _wrapper("-u -C --unset --chdir", line="-S --split-string", assigns=True),
    "sudo": _wrapper(_SUDO, assigns=True),
    "doas": _wrapper("-u -C", assigns=True),
    "timeout": _wrapper("-s -k --signal --kill-after", operands=1),
    "nice": _wrapper("-n --adjustment"),
    "ionice": _wrapper("-c -n -p -P -u --class --classdata"),
    "nohup": _wrapper(),
    "setsid": _wrapper(),
    "stdbuf": _wrapper("-i -o -e --input --output --error"),
    "time": _wrapper("-f -o --format --output"),
    "command": _wrapper(),
    "builtin": _wrapper(),
    "exec": _wrapper("-a"),
    "coproc": _wrapper(),
    "chronic": _wrapper(),
    "unbuffer": _wrapper(),
    "busybox": _wrapper(),
    "toybox": _wrapper(),
    "chroot": _wrapper("--userspec --groups", operands=1),
    "taskset": _wrapper(operands=1),
    "unshare": _wrapper("-S -G -R -w --setuid --setgid --root --wd"),
    "strace": _wrapper("-e -o -p -s -u -P -E"),
    "flock": _wrapper("-w -E --timeout --conflict-exit-code", operands=1, line="-c --command"),
    "su": _wrapper("-s -g -G -w --shell --group", operands=1_000_000, line="-c --command"),
    "runuser": _wrapper("-u -s -g -G -w --user --shell --group", line="-c --command"),
    "script": _wrapper("-I -O -B -T -m -E", operands=1_000_000, line="-c --command"),
    "watch": Wrapper(frozenset({"-n", "--interval"}), joins=True),
    "xargs": _wrapper(_XARGS),
    "parallel": _wrapper("-j -I -N -n -L -a -C -d --jobs --colsep --arg-file --delay --joblog --results --tmpdir"),
}


@dataclass(frozen=True, slots=True)
class Inner:
    """What a wrapper runs: words, or whole command lines; `options` are the words before."""

    words: Sequence[Word] = ()
    lines: Sequence[Word] = ()
    options: Sequence[Word] = ()


def inner(wrapper: Wrapper, arguments: Sequence[Word]) -> Inner:
    lines: list[Word] = []
    at, operands = 0, wrapper.operands
    while at < len(arguments):
        text = arguments[at].text
        if text == "--":
            at += 1 + operands
            break
        if (value := _line_in(text, wrapper.line)) is not None:
            lines.append(Word(value, arguments[at].dynamic) if value else _at(arguments, at + 1))
            at += 1 if value else 2
        elif text in wrapper.valued:
            at += 2
        elif (text.startswith("-") and len(text) > 1) or (wrapper.assigns and _ASSIGNMENT.match(text)):
            at += 1
        elif operands:
            at, operands = at + 1, operands - 1
        else:
            break
    words = arguments[at:]
    if wrapper.joins and words:
        return Inner(lines=(Word(" ".join(it.text for it in words), any(it.dynamic for it in words)),))
    return Inner(words, lines, arguments[:at])


def _line_in(text: str, flags: frozenset[str]) -> str | None:
    """What stands behind one of these flags in the same word, a bundle with its letter too; empty: the next word is
    meant; None: it is none of them."""
    name, _, value = text.partition("=")
    if name in flags:
        return value
    for letter in (flag[1] for flag in flags if len(flag) == 2):
        before, found, value = text[1:].partition(letter)
        if text[:1] == "-" and found and (not before or before.isalpha()):
            return value
    return None


def _at(arguments: Sequence[Word], at: int) -> Word:
    return arguments[at] if at < len(arguments) else Word("")
