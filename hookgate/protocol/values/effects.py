"""What a call did to the world: a union tagged by `kind`, on the wire and in memory. For hooks, never for a model.

Reading is for results of strangers: what does not have exactly its kind's members is dropped, not guessed at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, fields
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

from hookgate.protocol.dataclasses import dataclass, replace

if TYPE_CHECKING:
    from pydantic import TypeAdapter

FileOp = Literal["read", "create", "modify", "append", "delete", "rename"]
Source = Literal["claimed", "observed"]
"""`claimed`: the tool says so; `observed`: hookgate compared the files before and after."""


@dataclass(frozen=True, slots=True)
class FileEffect:
    """`path` is relative to the workspace; `from_path` is set for a rename; `bytes_after` unknown or gone: None.
    `alone` False: other chats' calls ran meanwhile, so what was observed may be theirs."""

    kind: ClassVar[str] = "file"
    op: FileOp
    path: str
    from_path: str | None = None
    bytes_after: int | None = None
    source: Source = "claimed"
    alone: Literal[False] | None = None


@dataclass(frozen=True, slots=True)
class ProcessEffect:
    """`exit_code` 0 is success, None is unknown (it still runs, or nobody saw its end)."""

    kind: ClassVar[str] = "process"
    command: str
    exit_code: int | None = None
    background: bool = False
    process_id: str | None = None
    pid: int | None = None
    timed_out: bool = False
    output_truncated: bool = False
    auto_backgrounded: bool = False
    source: Source = "claimed"


@dataclass(frozen=True, slots=True)
class NetEffect:
    kind: ClassVar[str] = "net"
    host: str
    port: int
    method: str
    source: Source = "claimed"


@dataclass(frozen=True, slots=True)
class RegistryEffect:
    """Tools that a call added or removed."""

    kind: ClassVar[str] = "registry"
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    source: Source = "claimed"


Effect = FileEffect | ProcessEffect | NetEffect | RegistryEffect

KINDS: Mapping[str, type[Effect]] = {it.kind: it for it in (FileEffect, ProcessEffect, NetEffect, RegistryEffect)}


def effect_members(effect: Effect) -> dict[str, object]:
    """The JSON object. An exit code is always written (0 is not unknown); other members that are None are not."""
    named = ((name, value) for name, value in asdict(effect).items() if value is not None or name == "exit_code")
    return {"kind": effect.kind, **dict(named)}


def read_effects(value: object) -> tuple[tuple[Effect, ...], tuple[str, ...]]:
    """The effects that a stranger claims, and what was wrong with those that are dropped."""
    if not isinstance(value, list):
        return (), () if value is None else ("effects must be an array",)
    read = [_read(item) for item in cast("list[object]", value)]
    good = tuple(replace(it, source="claimed") for it in read if not isinstance(it, str))
    return good, tuple(it for it in read if isinstance(it, str))


def _read(value: object) -> Effect | str:
    if not isinstance(value, dict):
        return "an effect must be an object"
    members = dict(cast("dict[str, Any]", value))
    kind = KINDS.get(str(members.pop("kind", "")))
    if kind is None:
        return "an effect of no known kind"
    strange = sorted(members.keys() - {field.name for field in fields(kind)})
    if strange:
        return f"a {kind.kind} effect has no member {strange[0][:80]!r}"
    try:
        return _reader(kind).validate_python(members)
    except ValueError as error:
        return f"a {kind.kind} effect that does not fit: {str(error).splitlines()[1][:80]}"


@cache
def _reader(kind: type[Effect]) -> TypeAdapter[Effect]:
    # Few results carry effects, and a start should not pay for those that do.
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def redacted_effect(redact: Callable[[str], str], effect: Effect) -> Effect:
    """The effect with every text in it passed through `redact`."""
    changed: dict[str, Any] = {}
    for field in fields(effect):
        value = getattr(effect, field.name)
        if isinstance(value, str) and field.name not in ("op", "source"):
            changed[field.name] = redact(value)
        elif isinstance(value, tuple):
            changed[field.name] = tuple(redact(text) for text in cast("tuple[str, ...]", value))
    return replace(effect, **changed)


def among_others(effects: Iterable[Effect]) -> tuple[Effect, ...]:
    """Those of a call that did not run alone: what was seen says so."""
    return tuple(
        replace(it, alone=False) if isinstance(it, FileEffect) and it.source == "observed" else it for it in effects
    )


def paths(effects: Iterable[Effect]) -> tuple[str, ...]:
    """Every file that the effects name, once, in order."""
    named = (path for it in effects if isinstance(it, FileEffect) for path in (it.from_path, it.path) if path)
    return tuple(dict.fromkeys(named))
