"""What is wrong with a configuration, in a person's words: the place as it stands in the file, and what to do."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails


def mistakes(error: ValidationError, root: type[BaseModel]) -> list[str]:
    """Each place as it is written in the file, and what is wrong there."""
    found: dict[str, ErrorDetails] = {}
    # Of a union every branch complains; the one that got deepest is the one that was meant.
    for mistake in sorted(error.errors(include_url=False), key=lambda it: -len(it["loc"])):
        place = _place(mistake["loc"])
        if not any(known == place or known.startswith(place + ".") for known in found):
            found[place] = mistake
    return [f"{place + ': ' if place else ''}{_plain(mistake, root)}" for place, mistake in found.items()]


_WORDS = {
    "missing": "is required",
    "tuple_type": 'must be an array, for example ["a", "b"]',
    "string_type": "must be a string",
    "dict_type": "must be a table",
    "model_type": "must be a table",
    "int_type": "must be a whole number",
    "bool_type": "must be true or false",
    "too_short": "must not be empty",
}


def _plain(mistake: ErrorDetails, root: type[BaseModel]) -> str:
    if mistake["loc"][-1:] == ("api_key_env",):
        return "must be the name of an environment variable, not the key itself"
    if mistake["type"] == "extra_forbidden":
        return _unknown_key(mistake["loc"], root)
    return _WORDS.get(mistake["type"], mistake["msg"]).removeprefix("Value error, ")


def _place(loc: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in loc if not _is_branch(part))


def _is_branch(part: int | str) -> bool:
    """Parts of a place that pydantic adds for the branches of a union; no key is spelled so."""
    return isinstance(part, str) and (part.startswith(("constrained-", "dict[", "literal[")) or part == "[key]")


def _unknown_key(place: tuple[int | str, ...], root: type[BaseModel]) -> str:
    section: Any = root
    for part in place[:-1]:
        section = _inner(section, part)
    names: tuple[str, ...] = tuple(getattr(section, "model_fields", {}))
    return f"unknown key{close(str(place[-1]), names)}"


def _inner(section: Any, part: int | str) -> Any:  # noqa: ANN401 - a type of pydantic's making
    fields: Mapping[str, Any] = getattr(section, "model_fields", {})
    if part in fields:
        return fields[str(part)].annotation
    arguments: tuple[Any, ...] = getattr(section, "__args__", ())
    return next((inner for inner in arguments if hasattr(inner, "model_fields")), None)


def close(name: str, names: Any) -> str:  # noqa: ANN401 - any iterable of strings
    """The known name that was probably meant, as the end of a sentence; empty without one."""
    found = get_close_matches(name, [str(known) for known in names], n=1)
    return f" (did you mean {found[0]!r}?)" if found else ""
