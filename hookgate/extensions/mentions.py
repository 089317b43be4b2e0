"""Which variables of the environment code mentions by name, in Python, JavaScript, TypeScript and Go. Reads no file.

A name stands where it is used, or is a text that the same file gives to what stands there. Names that are put
together at run time, come from another file, or are read by what the code loads, are not seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_TEXT = rf"[\"'`]({_NAME})[\"'`]"
_KEY = rf"(?:{_TEXT}|({_NAME})(?=\s*[\]),]))"
"""A text, or what may hold one."""
_PARTS = r"\{([^{}]{0,2000})\}"
_PROCESS = r"[\"'](?:node:)?process[\"']"
_SCRIPT = r"\b(?:process|Bun)\.env\b"
_PYTHON = r"\benviron\b"
_NOT_OF = r"(?<![\w.$])"
"""Before a name that is no member of something else."""

_GIVEN = re.compile(rf"{_NOT_OF}({_NAME})(?:\s*:\s*\w+|\s+string)?\s*:?=\s*{_TEXT}")
_EXPANDED = re.compile(r"\bExpandEnv\(\s*(?:\"([^\"\n]{0,2000})\"|`([^`]{0,2000})`)")
_IN_TEXT = re.compile(rf"\$(?:\{{({_NAME})\}}|({_NAME}))")
_TAKEN_OUT = re.compile(
    rf"\bimport\s*{_PARTS}\s*from\s*{_PROCESS}"
    rf"|{_PARTS}\s*=\s*(?:process\b(?![ \t]*[.?\[(])|require\(\s*{_PROCESS}\s*\))"
)
_ENV = re.compile(rf"\s*env\s*(?:(?::|\bas\b)\s*({_NAME})\s*)?")
_SCRIPTS_OWN = re.compile(rf"\b(?:const|let|var)\s+({_NAME})\s*(?::[^=;\n]{{0,80}})?=\s*{_SCRIPT}(?![ \t]*[.?\[])")
_PYTHONS_OWN = re.compile(
    rf"\benviron\s+as\s+({_NAME})|^[ \t]*({_NAME})[ \t]*(?::[^=\n]{{0,80}})?=[ \t]*(?:os\.)?environ[ \t]*(?:#|;|$)",
    re.M,
)
_FUNCTIONS_OWN = re.compile(rf"\bgetenv\s+as\s+({_NAME})")
_FIRST_NAME = re.compile(rf"\s*({_NAME})")


def mentioned(code: str) -> set[str]:
    """The names of variables that this code asks the environment for."""
    script, python = _either(_SCRIPT, _scripts(code)), _either(_PYTHON, _groups(_PYTHONS_OWN, code))
    functions = _either(r"\b(?:getenv|Getenv|LookupEnv)\b", _groups(_FUNCTIONS_OWN, code))
    keyed = (
        rf"(?:{script}|{python})(?:\?\.)?\s*\[\s*{_KEY}",
        rf"(?:{python}\.(?:get|pop|setdefault)|\bDeno\.env\.(?:get|has)|{functions})\(\s*{_KEY}",
    )
    named = (rf"{_TEXT}\s+(?:not\s+)?in\s+(?:os\.)?(?:{script}|{python})", rf"{script}\??\.({_NAME})")
    found = {name for pattern in named for name in _groups(re.compile(pattern), code)}
    found |= _texts([match for pattern in keyed for match in re.finditer(pattern, code)], code)
    for match in re.finditer(rf"{_PARTS}\s*=\s*{script}(?![ \t]*[.?\[])", code):
        found |= {name[1] for part in match[1].split(",") if (name := _FIRST_NAME.match(part))}
    return found | {name for text in _groups(_EXPANDED, code) for name in _groups(_IN_TEXT, text)}


def _texts(keys: list[re.Match[str]], code: str) -> set[str]:
    """Those that stand there, and those that what stands there is given somewhere."""
    held = {match[2] for match in keys if match[2]}
    given = {match[2] for match in _GIVEN.finditer(code) if match[1] in held} if held else set[str]()
    return given | {match[1] for match in keys if match[1]}


def _scripts(code: str) -> Iterator[str]:
    """What JavaScript calls its environment here."""
    yield from _groups(_SCRIPTS_OWN, code)
    for parts in _groups(_TAKEN_OUT, code):
        yield from (name[1] or "env" for part in parts.split(",") if (name := _ENV.fullmatch(part)))


def _groups(pattern: re.Pattern[str], text: str) -> Iterator[str]:
    return (it for match in pattern.finditer(text) for it in match.groups() if it)


def _either(usual: str, own: Iterator[str]) -> str:
    names = "|".join(sorted(set(own)))
    return rf"(?:{usual}|{_NOT_OF}(?:{names})\b)" if names else usual
