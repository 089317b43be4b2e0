"""What is wrong with a configuration, in a person's words: the place as it stands in the file, and what to do."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import is_dataclass
from difflib import get_close_matches
from types import UnionType
from typing import Any, Union, get_origin, get_type_hints

from pydantic import ValidationError
from pydantic_core import ErrorDetails

Where = Callable[[Sequence[int | str], bool], str]
"""The line and column of a path's value, or of its key, as the end of a sentence."""


def mistakes(error: ValidationError, root: type[Any], where: Where = lambda _path, _key: "") -> list[str]:
    """Each place as it is written in the file, and what is wrong there. `root`: a model or a dataclass."""
    found: dict[str, ErrorDetails] = {}
    # Of a union every branch complains; the one that got deepest is the one that was meant, and of those no word was
    # where something else is written.
    for mistake in sorted(error.errors(include_url=False), key=lambda it: (-len(it["loc"]), _wants_a_word(it))):
        place = _place(mistake["loc"])
        if not any(known == place or known.startswith(place + ".") for known in found):
            found[place] = mistake
    return [_said(place, mistake, root, where) for place, mistake in found.items()]


def _wants_a_word(mistake: ErrorDetails) -> bool:
    return mistake["type"] == "literal_error" and not isinstance(mistake["input"], str)


def _said(place: str, mistake: ErrorDetails, root: type[Any], where: Where) -> str:
    plain = _plain(mistake, root)
    path = [part for part in mistake["loc"] if not _is_branch(part)]
    # A mistake of the whole begins with the place that it is about.
    path = path or [part for part in plain.partition(" ")[0].split(".") if part]
    at_key = mistake["type"] in _UNKNOWN or mistake["loc"][-1:] == ("[key]",)
    return f"{place + ': ' if place else ''}{plain}{where(path, at_key)}"


_UNKNOWN = ("extra_forbidden", "unexpected_keyword_argument")


_WORDS = {
    "missing": "is required",
    "tuple_type": 'must be an array, for example ["a", "b"]',
    "string_type": "must be a string",
    "dict_type": "must be a table",
    "model_type": "must be a table",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "too_short": "must not be empty",
    "string_too_short": "must not be empty",
    "dataclass_type": "must be an object",
}
_TABLES = {("approvals",), ("routes",), ("tools", "preferences")}
"""Arrays of tables."""


_NAMES = {
    r"^[A-Za-z0-9_.-]+$": "a name may have letters, digits, _ . and - only",
    r"^[A-Za-z0-9_.-]{1,64}$": "a name may have letters, digits, _ . and - only, up to 64 of them",
    r"^[a-z][a-z0-9_]{1,63}$": "a name has 2 to 64 of a-z, 0-9 and _, and begins with a letter",
    r"^[^/]+/.+$": "write it PROVIDER/MODEL",
    r"^[A-Za-z0-9_.@-]{1,64}$": "a name may have letters, digits, _ . @ and - only, up to 64 of them",
    r"^\$argon2id\$": "must be an argon2 hash of the password, not the password itself",
    r"^(https?://[^/\s]+)?$": "must be http:// or https:// and a host, without a path, such as http://127.0.0.1:8081",
    r"^(https?://[^/]+)?$": "must be how people reach the page, for example https://chat.example.org",
    r"^[A-Za-z0-9_.-]+:.+$": "write it CHANNEL:ID, for example telegram:7",
    r"^(/([^~]|~[01])*)?$": "must be a JSON pointer, for example /data/message",
    r"^(https?://[^\s]+[^\s/])?$": "must be http:// or https:// and a host, for example http://127.0.0.1:4318",
    r"^([A-Za-z_][A-Za-z0-9_]*)?$": "must be the name of an environment variable",
}
"""What the patterns of the sections say."""


def _plain(mistake: ErrorDetails, root: type[Any]) -> str:
    if mistake["loc"][-1:] == ("api_key_env",):
        return "must be the name of an environment variable, not the key itself"
    match mistake["type"]:
        case kind if kind in _UNKNOWN:
            return _unknown_key(mistake["loc"], root, mistake["input"])
        case "literal_error" | "enum":
            expected = mistake.get("ctx", {}).get("expected", "")
            return f"must be {expected}{_meant(mistake['input'], _QUOTED.findall(expected))}"
        case "tuple_type" if mistake["loc"] in _TABLES:
            return f"there may be several: write it [[{_place(mistake['loc'])}]]"
        case "string_pattern_mismatch":
            return _NAMES.get(mistake.get("ctx", {}).get("pattern", ""), mistake["msg"])
        case kind:
            plain = _WORDS.get(kind, mistake["msg"]).removeprefix("Value error, ")
            return plain.replace("Input should be ", "must be ", 1)


def _place(loc: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in loc if not _is_branch(part))


def _is_branch(part: int | str) -> bool:
    """Parts of a place that pydantic adds for the branches of a union; no key is spelled so."""
    return isinstance(part, str) and (part.startswith(("constrained-", "dict[", "literal[")) or part == "[key]")


def _unknown_key(place: tuple[int | str, ...], root: type[Any], value: object) -> str:
    section: Any = root
    for part in place[:-1]:
        section = _inner(section, part)
    fields = _fields(section)
    tables = [name for name, field in fields.items() if get_origin(field) is dict and _argument(field)]
    # A table that lacks the word between: [hooks.guard] for [hooks.processes.guard].
    if place[:-1] and isinstance(value, dict) and tables and not get_close_matches(str(place[-1]), fields):
        return f"unknown key (did you mean [{_place((*place[:-1], tables[0], place[-1]))}]?)"
    return f"unknown key{close(str(place[-1]), fields)}"


_QUOTED = re.compile("'([^']*)'")
_MEANT = {
    **dict.fromkeys(
        ("refuse", "block", "reject", "closed", "fail_closed", "forbid", "strict"), ("deny", "read_only")
    ),
    **dict.fromkeys(("allow", "ignore", "open", "fail_open", "pass", "approve"), ("continue", "off")),
    **dict.fromkeys(("stop", "fail", "kill"), ("abort",)),
    **dict.fromkeys(("on", "true", "yes", "always", "log", "warn"), ("enforce", "audit")),
    **dict.fromkeys(("none", "false", "disabled", "never", "no"), ("off",)),
}
"""What others call it."""


def _meant(given: object, known: Sequence[str]) -> str:
    if not isinstance(given, str):
        return ""
    found = next((word for word in _MEANT.get(given.lower(), ()) if word in known), "")
    return f" (did you mean {found!r}?)" if found else close(given.lower(), known)


def _inner(section: Any, part: int | str) -> Any:  # noqa: ANN401 - a type of pydantic's making
    fields = _fields(_argument(section) if get_origin(section) in (Union, UnionType) else section)
    return fields[str(part)] if part in fields else _argument(section)


def _argument(section: Any) -> Any:  # noqa: ANN401 - a type of pydantic's making
    """What an array or a table holds, or which of several has fields."""
    arguments: tuple[Any, ...] = getattr(section, "__args__", ())
    return next((it for it in arguments if _fields(it)), None)


def _fields(section: Any) -> Mapping[str, Any]:  # noqa: ANN401 - a type of pydantic's making
    """By name, with their types."""
    if is_dataclass(section):
        return get_type_hints(section)
    models: Mapping[str, Any] = getattr(section, "model_fields", {})
    return {name: field.annotation for name, field in models.items()}


NEAR = 0.65
"""From here on two names are alike (as difflib has it): below it `shout` is near `bash_output`."""


def close(name: str, names: Any) -> str:  # noqa: ANN401 - any iterable of strings
    """The known name that was probably meant, as the end of a sentence; empty without one."""
    found = get_close_matches(name, [str(known) for known in names], 1, NEAR)
    return f" (did you mean {found[0]!r}?)" if found else ""
