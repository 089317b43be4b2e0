"""Keys and values as TOML text; knows no configuration."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias

Value: TypeAlias = "str | bool | int | float | Sequence[Value] | Mapping[str, Value]"

BARE = re.compile(r"[A-Za-z0-9_-]+")


def key(name: str) -> str:
    """One part of a dotted key, quoted where it must be."""
    return name if BARE.fullmatch(name) else string(name)


def string(text: str) -> str:
    """A basic string on one line. What cannot be printed is escaped: DEL may not stand in TOML, JSON leaves it."""
    escaped = json.dumps(text, ensure_ascii=False)
    return "".join(char if char.isprintable() else f"\\U{ord(char):08X}" for char in escaped)


def value(item: Value) -> str:
    """On one line; tables are inline."""
    match item:
        case str():
            return string(item)
        case bool():
            return "true" if item else "false"
        case int() | float():
            return str(item)
        case Mapping():
            return f"{{ {', '.join(f'{key(name)} = {value(inner)}' for name, inner in item.items())} }}"
        case _:
            return f"[{', '.join(map(value, item))}]"
