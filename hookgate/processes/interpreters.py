"""Programs that run what others have written, by name: shells, interpreters, tools that run projects; and scripts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from os import PathLike
from os.path import basename

from hookgate.protocol.dataclasses import dataclass

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "rbash", "csh", "tcsh"})
PROJECT_TOOLS = frozenset({"go", "cargo", "java", "dotnet", "uv", "npx", "npm", "pnpm", "yarn", "poetry"})
"""What they run is a project, a folder of it, or a program that they look for themselves."""
SCRIPT_SUFFIXES = frozenset(
    {
        *(".py", ".pyz", ".js", ".mjs", ".cjs", ".ts", ".mts", ".sh", ".bash", ".zsh", ".rb", ".pl", ".lua", ".php"),
        *(".r", ".R", ".jar", ".jq", ".awk", ".tcl", ".go", ".wasm"),
    }
)


@dataclass(frozen=True, slots=True)
class Interpreter:
    """`code`: letters of flags behind which stands code, or a module; `valued`: flags that take the next word;
    `verb`: the word that may stand before the script; `omitted`: ends that its name may lack."""

    code: str = ""
    valued: frozenset[str] = frozenset()
    verb: str = ""
    omitted: tuple[str, ...] = ()


_NODE = frozenset({"-r", "--require", "--import", "--loader", "--input-type"})
SHELL = Interpreter("c", frozenset({"-o", "+o", "-O", "+O", "--rcfile", "--init-file"}))
INTERPRETERS: Mapping[str, Interpreter] = {
    **dict.fromkeys(sorted(SHELLS), SHELL),
    **dict.fromkeys(("python", "pypy"), Interpreter("cm", frozenset({"-W", "-X"}))),
    **dict.fromkeys(("node", "nodejs"), Interpreter("ep", _NODE, omitted=(".js", ".json", ".node"))),
    "tsx": Interpreter("ep", _NODE, omitted=(".js", ".ts")),
    "bun": Interpreter("ep", verb="run"),
    "deno": Interpreter(verb="run"),
    "ruby": Interpreter("e", frozenset({"-r", "-I", "-C"})),
    "perl": Interpreter("eE", frozenset({"-I"})),
    "php": Interpreter("rfBRFE", frozenset({"-d", "-c"})),
    "lua": Interpreter("e", frozenset({"-l"})),
    "Rscript": Interpreter("e"),
    "R": Interpreter("ef", verb="CMD"),
    "tclsh": Interpreter(),
    "pwsh": Interpreter("cf", omitted=(".ps1",)),
    "nu": Interpreter("c"),
}
_VERSION = re.compile(r"-?[\d.]+\Z", re.ASCII)
_CODE_WORDS = frozenset({"--eval", "--print", "--file", "-Command", "-File"})


def program_name(path: str | PathLike[str]) -> str:
    """Without its folder and its version: `python` of `/usr/bin/python3.13`."""
    return _VERSION.sub("", basename(path))


def gives_code(flag: str, letters: str) -> bool:
    """Whether it is one of these letters, or one of the words that stand for them. Not in flags that have their value
    in the same word: perl's `-Mfeature`, python's `-Werror`."""
    if flag.partition("=")[0] in _CODE_WORDS:
        return True
    return re.match(r"-[A-HJ-LN-VY-Za-z]", flag) is not None and any(letter in flag[1:] for letter in letters)
