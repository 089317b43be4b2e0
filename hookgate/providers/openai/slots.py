"""The tool calls of a chat completion while their pieces come: which piece belongs to which, and what each becomes.

Servers number calls, name them by id, repeat both or leave both out. Knows no event and no text around them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import field

from hookgate.protocol.codec import decode, encode
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.errors import BadMessage
from hookgate.protocol.values import JsonObject, ProposedCall
from hookgate.protocol.values.delta import CallPiece
from hookgate.providers.foreign import member, text
from hookgate.providers.names import NewCallIds, ToolNames

_PART = re.compile(r'\\(?:.|\Z)|["{}\[\]]|[^\s"{}\[\]\\]++', re.DOTALL)


class _Object:
    """Whether a text that grows is one JSON object by now; every character is looked at once."""

    def __init__(self) -> None:
        self._depth, self._quoted, self._escape = 0, False, ""
        self.closed = self._dead = False

    def grow(self, text: str) -> None:
        parts = _PART.findall(self._escape + text)
        self._escape = parts.pop() if parts and parts[-1] == "\\" else ""
        for part in parts:
            self._step(part)
        self.closed = self.closed and not self._dead

    def _step(self, part: str) -> None:
        if self._quoted:
            self._quoted = part != '"'
        elif self._depth == 0 and (self.closed or part != "{"):
            self._dead = True
        else:
            self._quoted = part == '"'
            self._depth += (part in "{[") - (part in "}]")
            self.closed = self._depth == 0


@dataclass(slots=True)
class _Slot:
    """A call; `given` is the id that it has in the reply, once it has been told of."""

    index: int | None
    id: str
    name: str
    pieces: list[str] = field(default_factory=list[str])
    given: str = ""
    read: int = 0
    whole: _Object = field(default_factory=_Object)
    readable: bool | None = None

    @property
    def arguments(self) -> str:
        return "".join(self.pieces) or "{}"

    @property
    def is_object(self) -> bool:
        """Decoded at most once: only blanks can follow a whole object, and they mend none that cannot be read."""
        self.whole.grow("".join(self.pieces[self.read :]))
        self.read = len(self.pieces)
        if self.whole.closed and self.readable is None:
            self.readable = _decodes(self.arguments)
        return self.whole.closed and bool(self.readable)


class Slots:
    """`tell` gets each piece of a call as soon as it is known which call it is of."""

    def __init__(self, tell: Callable[[CallPiece], None], names: ToolNames, ids: NewCallIds) -> None:
        self._tell, self._names, self._ids = tell, names, ids
        self._slots: list[_Slot] = []
        self._by_index: dict[int, _Slot] = {}
        self._by_id: dict[str, _Slot] = {}
        self._named = False
        self._ended = False

    def __bool__(self) -> bool:
        return self._named

    def take(self, delta: JsonObject) -> None:
        function = member(delta, "function")
        name, arguments = text(function, "name"), _arguments(function)
        slot = self._of(delta, name)
        if slot is None or _starts_another(slot, delta, name, arguments):
            slot = _Slot(_index(delta), "", "")
            self._slots.append(slot)
            if slot.index is not None:
                self._by_index[slot.index] = slot
        slot.id = slot.id or text(delta, "id")
        slot.name = slot.name or name
        self._named = self._named or bool(name)
        if slot.id:
            self._by_id.setdefault(slot.id, slot)
        slot.pieces.append(arguments)
        self._told(slot, arguments)

    def _of(self, delta: JsonObject, name: str) -> _Slot | None:
        """The call that a piece belongs to: by index, else by id, else the last one if it names nothing."""
        index, given = _index(delta), text(delta, "id")
        if index is not None:
            return self._by_index.get(index)
        if given:
            return self._by_id.get(given)
        return self._slots[-1] if self._slots and not name else None

    def _told(self, slot: _Slot, arguments: str) -> None:
        """An id may come after the name, but no later than the first of the arguments."""
        if slot.given and arguments and not self._ended:
            self._tell(CallPiece(slot.given, self._names.back(slot.name), arguments))
        elif not slot.given and slot.name and (slot.id or arguments):
            self._begin(slot)

    def _begin(self, slot: _Slot) -> None:
        slot.given = self._ids.of(slot.id)
        if not self._ended:
            self._tell(CallPiece(slot.given, self._names.back(slot.name), "".join(slot.pieces)))

    def end(self) -> None:
        """Whatever comes now is told with the reply alone."""
        for slot in self._slots if not self._ended else ():
            if slot.name and not slot.given:
                self._begin(slot)
            if slot.given:
                rest = "" if any(slot.pieces) else "{}"
                self._tell(CallPiece(slot.given, self._names.back(slot.name), rest, ended=True))
        self._ended = True

    def calls(self) -> tuple[ProposedCall, ...]:
        """All that have a name, in the order in which they began."""
        self.end()
        named = [slot for slot in self._slots if slot.name]
        for slot in named:
            slot.given = slot.given or self._ids.of(slot.id)
        return tuple(ProposedCall(slot.given, self._names.back(slot.name), slot.arguments) for slot in named)


def _index(delta: JsonObject) -> int | None:
    index = delta.get("index")
    return index if isinstance(index, int) else None


def _starts_another(slot: _Slot, delta: JsonObject, name: str, arguments: str) -> bool:
    """Some servers number every call 0. A new id alone says nothing: others make one up for each piece."""
    if not name or not slot.name:
        return False
    given = text(delta, "id")
    return bool(given and slot.id and given != slot.id) or (bool(arguments) and slot.is_object)


def _decodes(arguments: str) -> bool:
    try:
        return isinstance(decode(arguments), dict)
    except BadMessage:
        return False


def _arguments(function: JsonObject) -> str:
    given = function.get("arguments")
    if isinstance(given, str):
        return given
    return "" if given is None else encode(given).decode()
