"""What the doctor finds, as values. Knows neither how anything is found out nor how it is printed."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from hookgate.protocol.dataclasses import dataclass
from hookgate.sections import Config

State = Literal["ok", "note", "broken"]
"""`note`: something optional is missing, or deserves a look. `broken`: what is configured cannot work."""


@dataclass(frozen=True, slots=True)
class Finding:
    """`what` is one line; `remedy` says what to type or do, empty where there is nothing to."""

    subject: str
    state: State
    what: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Examined:
    """What is looked at. `file` None: there is no configuration, or none that can be read, and `config` is the usual
    one. `base`: where relative paths of the configuration count from. `online`: endpoints elsewhere may be asked."""

    config: Config
    file: Path | None
    base: Path
    online: bool = False
    extensions: tuple[Path, ...] = ()


def ok(subject: str, what: str) -> Finding:
    return Finding(subject, "ok", what)


def note(subject: str, what: str, remedy: str = "") -> Finding:
    return Finding(subject, "note", what, remedy)


def broken(subject: str, what: str, remedy: str = "") -> Finding:
    return Finding(subject, "broken", what, remedy)


def failing(subject: str, what: str, remedy: str = "", *, needed: bool) -> Finding:
    """Broken where something that is configured needs it, else a note."""
    return Finding(subject, "broken" if needed else "note", what, remedy)


def count(findings: Iterable[Finding], state: State) -> int:
    return sum(it.state == state for it in findings)
