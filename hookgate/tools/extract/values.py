"""What a text turns out to hold: calls, faults, the rest. Reads nothing itself."""

from __future__ import annotations

from typing import Literal

from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.values import Decode, JsonObject, ToolCall

Mode = Literal["tags", "all"]
"""`tags`: explicit openers alone, at the start of a line outside quotations, with nothing but calls after them.
`all`: anywhere in prose, fences and bare JSON values too."""

Klass = Literal["CALLS", "MALFORMED", "NONE"]


@dataclass(frozen=True, slots=True)
class Problem:
    """A call that was begun and cannot be made; `name` is the tool it names, if it names one."""

    reason: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Extracted:
    """`rest` is the text without its fragments; where there are no calls it is the text as it came.

    CALLS: at least one call, in the order of the text; `problems` beside them are of other fragments. MALFORMED:
    none, but `problems` says what was tried. NONE: nothing was tried. `written`: the fragments as they stand.
    """

    klass: Klass
    calls: tuple[ToolCall, ...]
    rest: str
    problems: tuple[Problem, ...] = ()
    written: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FoundCall:
    """A call as its fragment says it; `id` is empty where the model gave none."""

    id: str
    name: str
    arguments: JsonObject
    decode: Decode


Verdict = tuple["FoundCall | Problem", ...]
"""What one fragment holds, in order."""


@dataclass(frozen=True, slots=True)
class Fragment:
    """The characters `start` to `end` of the text, which are a call's and not the answer's."""

    start: int
    end: int
    verdict: Verdict
