"""For the profile that only looks: which commands change files or state, by name, subcommand or flag."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from hookgate.guards.shell.tree import Word

Reason = tuple[str, str]
Arguments = Sequence[Word]


def _these(words: str) -> frozenset[str]:
    return frozenset(words.split())


_WRITERS = _these(
    "rm rmdir unlink shred mv cp tee sponge patch rsync scp sftp split csplit rename wget gunzip unzip "
    "unxz bunzip2 zip"
)
_CHANGERS = _these(
    "mkdir ln truncate install touch chmod chown chgrp chattr setfacl mkfifo mknod mktemp mount umount "
    "dpkg rpm kill pkill killall crontab at batch systemctl service reboot shutdown halt poweroff useradd "
    "userdel usermod passwd ex ed vi vim nano emacs"
)
_RUNNERS = frozenset({"xargs", "parallel", "eval", "source", ".", "alias", "trap"})
_PACKAGERS = _these(
    "pip pip3 pipx uv poetry conda npm pnpm yarn bun cargo gem bundle brew apt apt-get dnf yum apk pacman snap go"
)
_PACKAGING = _these(
    "install i add remove rm uninstall update upgrade publish link unlink ci sync lock init create dlx up "
    "purge autoremove dist-upgrade full-upgrade clean mod get generate fmt work fix fetch vendor yank"
)
_IN_PLACE = re.compile(r"--in-place(=|\Z)|-[A-Za-z]*i", re.ASCII)


def changes(name: str, arguments: Arguments) -> Reason | None:
    """The rule and the sentence that refuse a command; None for one that only looks, as far as its words tell."""
    if name in _WRITERS:
        return _writes(f"`{name}`")
    if name in _CHANGERS:
        return "state", f"`{name}` changes state, and here commands only look. Use ls, read or stat"
    if name in _RUNNERS:
        return "wrapper", f"what `{name}` runs cannot be seen beforehand. Run the command itself"
    judge = _BY_NAME.get(name)
    if judge is not None:
        return judge(arguments)
    return _packager(name, arguments) if name in _PACKAGERS else None


def executed(arguments: Arguments) -> Iterator[Arguments]:
    """The commands that `find` runs for what it finds."""
    words: list[Word] | None = None
    for argument in arguments:
        if words is not None and argument.text in (";", "+"):
            yield words
            words = None
        elif words is not None:
            words.append(argument)
        elif argument.text in ("-exec", "-execdir", "-ok", "-okdir"):
            words = []
    if words:
        yield words


def _writes(what: str) -> Reason:
    return "write", f"{what} writes files, and here commands only look. Say what should be changed instead"


def _flagged(arguments: Arguments, flags: str) -> bool:
    """Whether one of the flags stands there: long ones also with a value, short ones also with it attached."""
    wanted = flags.split()
    return any(
        text == flag or text.startswith(f"{flag}=") or (len(flag) == 2 and text.startswith(flag) and text[1] != "-")
        for text in (it.text for it in arguments)
        for flag in wanted
    )


def _sed(arguments: Arguments) -> Reason | None:
    """`-i` in a bundle of letters, but not in what follows `-e`."""
    flags = (it.text for it in arguments if it.text.startswith("-") and not it.text.startswith(("-e", "-f")))
    return _writes("`sed -i`") if any(_IN_PLACE.match(flag) for flag in flags) else None


def _in_place(name: str) -> Callable[[Arguments], Reason | None]:
    def judge(arguments: Arguments) -> Reason | None:
        flags = (it.text for it in arguments if re.match(r"-[a-zA-Z0-9]*i(\.|\Z|[a-z])", it.text))
        return _writes(f"`{name} -i`") if any(not flag.startswith(("-I", "-M", "-e")) for flag in flags) else None

    return judge


def _dd(arguments: Arguments) -> Reason | None:
    files = (it.text[3:] for it in arguments if it.text.startswith("of="))
    return _writes("`dd of=`") if any(file not in ("/dev/null", "/dev/stdout") for file in files) else None


def _find(arguments: Arguments) -> Reason | None:
    deleting = {"-delete", "-fprint", "-fprint0", "-fprintf", "-fls"}
    return _writes("this `find`") if any(it.text in deleting for it in arguments) else None


def _output(name: str, flags: str) -> Callable[[Arguments], Reason | None]:
    return lambda arguments: _writes(f"`{name} {flags.split()[0]}`") if _flagged(arguments, flags) else None


def _curl(arguments: Arguments) -> Reason | None:
    bundled = (it.text for it in arguments if re.match(r"-[A-Za-z]*[oO]", it.text))
    if any(bundled) or _flagged(arguments, "--output --remote-name --remote-name-all --output-dir"):
        return _writes("`curl -o`")
    return None


def _tar(arguments: Arguments) -> Reason | None:
    first = next((it.text for it in arguments), "")
    listing = re.match(r"-?[A-Za-z]*t", first) is not None or first == "--list" or _flagged(arguments, "--list")
    return None if listing else _writes("`tar`")


def _packer(name: str) -> Callable[[Arguments], Reason | None]:
    """gzip and its like replace the file unless they are told to write to their output."""

    def judge(arguments: Arguments) -> Reason | None:
        looks = any(re.match(r"-[A-Za-z0-9]*[clt]", it.text) for it in arguments)
        return None if looks or _flagged(arguments, "--stdout --to-stdout --list --test") else _writes(f"`{name}`")

    return judge


def _packager(name: str, arguments: Arguments) -> Reason | None:
    subcommand = next((it.text for it in arguments if not it.text.startswith("-")), "")
    pacman = name == "pacman" and any(re.match(r"-[SRUD]", it.text) for it in arguments)
    if pacman or subcommand in _PACKAGING:
        return "state", f"`{name} {subcommand}` changes what is installed, and here commands only look"
    return None


# --- git --------------------------------------------------------------------------------------------------------

_GIT_VALUED = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env"})
_GIT_LOOKS = _these(
    "status log diff show blame annotate grep ls-files ls-tree ls-remote rev-parse rev-list describe "
    "cat-file shortlog name-rev merge-base for-each-ref show-ref show-branch whatchanged count-objects fsck "
    "help version var check-ignore check-attr check-mailmap diff-tree diff-index diff-files range-diff "
    "cherry verify-commit verify-tag get-tar-commit-id"
)
# Subcommands that look with these words, and, where the empty word is listed, without any.
_GIT_SOMETIMES: Mapping[str, frozenset[str]] = {
    "stash": frozenset({"list", "show"}),
    "remote": frozenset({"", "-v", "--verbose", "show", "get-url"}),
    "worktree": frozenset({"list"}),
    "submodule": frozenset({"", "status", "summary"}),
    "notes": frozenset({"", "list", "show"}),
    "reflog": frozenset({"", "show", "HEAD"}),
    "bisect": frozenset({"log", "view"}),
    "config": frozenset({"-l", "--list", "--get", "--get-all", "--get-regexp", "get", "list"}),
    "branch": frozenset(
        {"", "-a", "-r", "-v", "-vv", "-av", "-avv", "--list", "-l", "--all", "--show-current", "--contains"}
    ),
    "tag": frozenset({"", "-l", "--list", "-n", "--contains", "--points-at"}),
}


def _git(arguments: Arguments) -> Reason | None:
    rest = _after_git_options(arguments)
    subcommand, words = (rest[0].text if rest else ""), rest[1:]
    first = words[0].text if words else ""
    looks = not subcommand or subcommand in _GIT_LOOKS or first in _GIT_SOMETIMES.get(subcommand, frozenset())
    if not looks or _flagged(words, "--output") or _flagged(arguments[: len(arguments) - len(rest)], "-c"):
        return (
            "git",
            f"`git {subcommand}` changes the repository, and here commands only look. Use git status or diff",
        )
    return None


def _after_git_options(arguments: Arguments) -> Arguments:
    at = 0
    while at < len(arguments) and arguments[at].text.startswith("-"):
        at += 2 if arguments[at].text in _GIT_VALUED else 1
    return arguments[at:]


_BY_NAME: Mapping[str, Callable[[Arguments], Reason | None]] = {
    "git": _git,
    "sed": _sed,
    "gsed": _sed,
    "perl": _in_place("perl"),
    "ruby": _in_place("ruby"),
    "dd": _dd,
    "find": _find,
    "sort": _output("sort", "-o --output"),
    "curl": _curl,
    "tar": _tar,
    "gzip": _packer("gzip"),
    "bzip2": _packer("bzip2"),
    "xz": _packer("xz"),
    "zstd": _packer("zstd"),
}
